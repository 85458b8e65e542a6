// Owns the types of nodes whose sizes are symbolic: the table's shape rules, which know sizes as numbers, are
// asked at several values of the symbols, and the expression that they follow is solved for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

struct Inferred {
  std::vector<Type> types;
  // Sizes for which no expression was found are what they are at the hints, under these conditions in words.
  std::vector<std::string> conditions;
};

// The types of a plain application of `op`, given one type per operand. Throws what the rule throws at the
// hints.
Inferred infer_types(const Op& op, std::span<const Type> operands, const std::vector<GraphAttr>& attrs,
                     const SymbolValues& hints);

// Values of the symbols other than the hints, at which rules are asked.
std::vector<SymbolValues> other_assignments(const SymbolValues& hints);

// The type of an operand: that of the value, or of the number.
Type operand_type(const Graph& graph, const Operand& operand);
// The symbols that sizes, a node with its results, or a graph are written with.
void collect_symbols(const Sizes& sizes, std::set<std::string>& into);
void collect_symbols(const std::vector<GraphAttr>& attrs, std::set<std::string>& into);
bool has_symbols(const Sizes& sizes);
bool has_symbols(const std::vector<GraphAttr>& attrs);
std::set<std::string> symbols_of(const Graph& graph, const Node& node);
std::set<std::string> symbols_of(const Graph& graph);
// The types of a node's results from those of its operands.
Inferred infer_types(const Graph& graph, const Node& node);

// Does every shape rule hold, with the types written in the graph, when the symbols have these values? The
// fit of `infer_types` need not be believed: callers ask this once per tuple of values. Gives what differs,
// empty when all is well.
std::string check_shapes(const Graph& graph, const SymbolValues& values);

}  // namespace kiln::jit
