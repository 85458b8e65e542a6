// Owns the types of nodes whose sizes are symbolic: what the table's shape rules say of them, and where that
// holds.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "tensor/size_scope.h"

namespace kiln::jit {

struct Inferred {
  std::vector<Type> types;
  std::vector<SizeGuard> guards;  // what the rule asked of the symbols, as it is at the hints
};

// The types of a plain application of `op`, given one type per operand: its rule runs once, on sizes that may
// be symbolic. Throws what the rule throws at the hints.
Inferred infer_types(const Op& op, std::span<const Type> operands, const std::vector<Attr>& attrs,
                     const SymbolValues& hints);

// The type of an operand: that of the value, or of the number.
Type operand_type(const Graph& graph, const Operand& operand);
// The symbols that attributes, a node with its results, or a graph are written with.
void collect_symbols(const std::vector<Attr>& attrs, std::set<std::string>& into);
bool has_symbols(const std::vector<Attr>& attrs);
std::set<std::string> symbols_of(const Graph& graph, const Node& node);
std::set<std::string> symbols_of(const Graph& graph);
// The types of a node's results from those of its operands.
Inferred infer_types(const Graph& graph, const Node& node);

// Do the graph's guards hold, and every shape rule with the types written in the graph, when the symbols have
// these values? Callers ask this once per tuple of values. Gives what differs, empty when all is well.
std::string check_shapes(const Graph& graph, const SymbolValues& values);

}  // namespace kiln::jit
