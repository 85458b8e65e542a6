#include "tests/cuda/fake/graph.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kiln::fake {

GraphNodeData kernel_node(const Launch& launch, std::shared_ptr<ModuleData> module, void* const* parameters) {
  GraphNodeData node;
  node.type = kNodeKernel;
  node.launch = launch;
  auto copied = std::make_shared<const Parameters>(*launch.function->kernel, parameters);
  node.parameters = copied;
  node.run = [launch, module = std::move(module), copied] { return run(launch, *copied); };
  return node;
}

bool are_followed_by(const std::vector<GraphNodeHandle>& nodes, const std::vector<GraphNodeHandle>& of) {
  std::set<GraphNodeHandle> reached(of.begin(), of.end());
  std::vector<GraphNodeHandle> left = of;
  while (!left.empty()) {
    const GraphNodeHandle node = left.back();
    left.pop_back();
    for (const GraphNodeHandle before : node->after) {
      if (reached.insert(before).second) left.push_back(before);
    }
  }
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](GraphNodeHandle node) { return reached.contains(node); });
}

}  // namespace kiln::fake
