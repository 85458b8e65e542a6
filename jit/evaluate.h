// Owns running a graph op by op through `bind`, so that it works at every level.
#pragma once

#include "jit/graph.h"

namespace kiln::jit {

// The values of the symbols, from the sizes of the arguments. Throws OpError (Shape) when an argument does
// not have the type that its input says.
SymbolValues bind_symbols(const Graph& graph, Inputs arguments);

// Runs the nodes, then the effects. One tensor per argument; a base is the memory that its members share.
// What is returned aliases arguments as the graph says: see Effect.
Tensors evaluate(const Graph& graph, Inputs arguments);

}  // namespace kiln::jit
