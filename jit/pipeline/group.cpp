// After all that changes what is computed: nodes that one kernel computes become one node. What a view
// between them shows is decided when there are loops.
#include <algorithm>
#include <set>

#include "jit/loops/kernel_op.h"
#include "jit/loops/place_groups.h"
#include "jit/passes/passes.h"
#include "jit/shape_rules.h"

namespace kiln::jit {
namespace {

// What the nodes of a group read and do not make, in order.
std::vector<ValueId> inputs_of(const Graph& graph, const Group& group) {
  std::set<ValueId> made, seen;
  for (const int place : group.nodes) {
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    made.insert(node.outputs.begin(), node.outputs.end());
  }
  std::vector<ValueId> inputs;
  for (const int place : group.nodes) {
    for (const Operand& each : graph.nodes[static_cast<std::size_t>(place)].operands) {
      if (each.is_value() && !made.contains(each.value) && seen.insert(each.value).second)
        inputs.push_back(each.value);
    }
  }
  return inputs;
}

std::vector<std::string> symbols_of(const Graph& graph, const Group& group) {
  std::set<std::string> symbols;
  for (const int place : group.nodes)
    symbols.merge(jit::symbols_of(graph, graph.nodes[static_cast<std::size_t>(place)]));
  return {symbols.begin(), symbols.end()};
}

}  // namespace

Graph group(Graph graph) {
  if (!graph.is_functional() || graph.stage == Stage::Fused) return graph;
  const auto grouping = std::make_shared<Grouping>();
  grouping->fusion = find_groups(graph, false);
  grouping->source = std::move(graph);
  std::vector<GroupNode> nodes;
  for (std::size_t k = 0; k < grouping->fusion.groups.size(); ++k) {
    const Group& each = grouping->fusion.groups[k];
    std::vector<std::string> symbols = symbols_of(grouping->source, each);
    nodes.push_back({make_group_op(grouping, k, symbols), inputs_of(grouping->source, each), symbols});
  }
  return place_groups(grouping->source, grouping->fusion, nodes);
}

}  // namespace kiln::jit
