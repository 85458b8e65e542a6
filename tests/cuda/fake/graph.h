// Owns pieces of work as nodes of graphs: what a stream is given while it captures, and a graph does later.
#pragma once

#include <memory>
#include <vector>

#include "tests/cuda/fake/launch.h"
#include "tests/cuda/fake/streams.h"

namespace kiln::cuda {

struct GraphNodeData {
  int type = kNodeKernel;
  fake::Work run;
  // Of a kernel of a module; a library's own kernel has neither.
  fake::Launch launch;
  std::shared_ptr<const fake::Parameters> parameters;
  std::vector<GraphNodeHandle> after;  // nodes that it follows at once
};

struct GraphData {
  std::vector<std::unique_ptr<GraphNodeData>> nodes;  // each behind those that it follows
};

// A graph that can be launched: its own nodes, in the order of the graph's.
struct GraphExecData {
  GraphHandle graph = nullptr;
  std::vector<std::shared_ptr<const GraphNodeData>> nodes;
  fake::MomentHandle last;  // a launch follows the one before
};

}  // namespace kiln::cuda

namespace kiln::fake {

GraphNodeData kernel_node(const Launch& launch, std::shared_ptr<ModuleData> module, void* const* parameters);

// Are these nodes, or all that the others follow, among what `of` follow?
bool are_followed_by(const std::vector<GraphNodeHandle>& nodes, const std::vector<GraphNodeHandle>& of);

}  // namespace kiln::fake
