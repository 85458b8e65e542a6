// Owns the same graph for another device.
#pragma once

#include "jit/graph/graph.h"

namespace kiln::jit {

// As if all its tensors were on that device: to look at, since its constants stay where they are.
Graph on_device(Graph graph, Device device);

}  // namespace kiln::jit
