// Owns the picture of a graph, in the language of Graphviz.
#pragma once

#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Inputs on top, a box for each node, an arrow for each use with the type that goes along it, what is
// returned and written at the bottom.
std::string dot_text(const Graph& graph);

}  // namespace kiln::jit
