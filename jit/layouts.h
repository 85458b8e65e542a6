// Owns where the values of a graph lie in memory, for the few rules that must know.
#pragma once

#include "jit/trace.h"

namespace kiln::jit {

// The layout of a value at these symbols: of a view as its op says, else as the type says, else row-major.
Layout layout_of(const Graph& graph, std::span<const int> producers, ValueId id, const SymbolValues& symbols);
Layout layout_of_type(const Type& type, const SymbolValues& symbols);

// The operands of a node as rules are given them.
std::vector<TraceOperand> trace_operands(const Graph& graph, std::span<const int> producers,
                                         const Node& node);

}  // namespace kiln::jit
