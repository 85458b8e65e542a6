// Owns which nodes of a later graph come from which of an earlier one.
#pragma once

#include "jit/graph/graph.h"

namespace kiln::jit {

// Gives each node its own number as its lineage. Whatever passes, differentiation and partition make of the
// graph then names the nodes that it comes from, since a lineage goes where the place in the program goes.
void number_nodes(Graph& graph);

}  // namespace kiln::jit
