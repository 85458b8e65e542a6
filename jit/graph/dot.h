// Owns the picture of a graph, in the languages of Graphviz and of Mermaid.
#pragma once

#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// Inputs on top, a box for each node, an arrow for each use with the type that goes along it, what is
// returned and written at the bottom.
std::string dot_text(const Graph& graph);
// The same for Mermaid, which documents on the web draw.
std::string mermaid_text(const Graph& graph);

}  // namespace kiln::jit
