// Owns the same graph for another device.
#pragma once

#include "jit/graph/graph.h"

namespace kiln::jit {

// As if all its tensors were on that device, to look at, but for results that an op leaves on the host.
// Constants are where they were, and go there.
Graph on_device(const Graph& graph, Device device);

}  // namespace kiln::jit
