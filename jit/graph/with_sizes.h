// Owns the sizes that a graph is written with: all of its symbols, and a graph with others in their place.
#pragma once

#include "jit/graph/graph.h"
#include "tensor/substitute.h"

namespace kiln::jit {

// The graph with these in the place of its symbols. They are made of the symbols of the graph that uses it.
Graph with_sizes(Graph graph, const SymbolSizes& sizes);
// Forgets the hints of symbols that nothing in the graph is written with.
void drop_unused_hints(Graph& graph);

}  // namespace kiln::jit
