// Owns what differs between two graphs, as people read it.
#pragma once

#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// The lines of both texts: "  " before those that both have, "- " before those of `a` alone, "+ " before
// those of `b` alone. Nodes are aligned by op and place, so that a node that changed stands under what it
// was. Places are shown and not compared. Empty when no line differs.
std::string diff_graphs(const Graph& a, const Graph& b);

}  // namespace kiln::jit
