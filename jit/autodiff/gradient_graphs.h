// Owns the graphs of a program's gradients as people look at them: joint, forward, backward.
#pragma once

#include "jit/autodiff/partition.h"

namespace kiln::jit {

struct GradientGraphs {
  Joint joint;
  Partition parts;  // nodes name those of the joint graph that they come from (jit/graph/lineage.h)
};
// As a compiled call makes them when gradients of all its results come in. The graph is captured or
// functional. Throws OpError (Capture) when no result depends on a wanted input, and as `differentiate`.
GradientGraphs gradient_graphs(const Graph& graph, const std::vector<bool>& wanted,
                               const PartitionOptions& options = {});

}  // namespace kiln::jit
