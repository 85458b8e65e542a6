// Owns what must hold of every graph between passes.
#pragma once

#include <string>

#include "jit/graph/graph.h"

namespace kiln::jit {

// The first thing that is wrong, with the node where it is one's; empty when nothing is: values are defined
// once, in order, and before they are used; types are what the rules give; names differ; writes are in
// captured graphs only; effects name inputs and fit them.
std::string find_fault(const Graph& graph);

// Throws InternalError for a graph with a fault: names the pass, shows the node among its neighbours and the
// user's line.
void verify(const Graph& graph, std::string_view pass);

}  // namespace kiln::jit
