// Owns the proof that a graph with symbols is not one call's accident: the graph of an earlier call, with
// other sizes, must be the same.
#pragma once

#include "jit/graph/graph.h"

namespace kiln::interp::capture {

// Do the two have the same steps, and do attributes and sizes of `symbolic` give those of `earlier` when the
// symbols have these values? Symbols without one are not asked. True also for graphs of other steps: calls
// that took another way prove nothing.
bool agrees(const jit::Graph& symbolic, const SymbolValues& values, const jit::Graph& earlier);

// The graph with its symbols at their hints.
jit::Graph at_hints(jit::Graph graph);

}  // namespace kiln::interp::capture
