// After grouping: each group becomes loops over the axes of its elements, and the target of its device says
// how they run. Views between nodes of a graph are now strides of loads, so that a kernel reads what they are
// views of.
#include <fmt/format.h>

#include "jit/loops/kernel_op.h"
#include "jit/loops/lower.h"
#include "jit/loops/place_groups.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

std::shared_ptr<const Grouping> grouping_of(const Graph& graph) {
  for (const auto& each : graph.own_ops) {
    if (const GroupOp* const group = as_group(*each)) return group->grouping;
  }
  return nullptr;
}

// By value: does a node read it that is not of the kernel which makes it?
std::vector<bool> read_elsewhere(const Graph& graph, const Fusion& fusion) {
  const std::vector<int> producers = graph.producers();
  std::vector<bool> read(graph.values.size(), false);
  for (std::size_t place = 0; place < graph.nodes.size(); ++place) {
    const int group = fusion.group_of[place];
    for (const Operand& each : graph.nodes[place].operands) {
      if (!each.is_value()) continue;
      const int maker = producers[static_cast<std::size_t>(each.value)];
      const bool is_own =
          group >= 0 && maker >= 0 && fusion.group_of[static_cast<std::size_t>(maker)] == group;
      if (!is_own) read[static_cast<std::size_t>(each.value)] = true;
    }
  }
  return read;
}

ScheduledKernel loops_of(const Grouping& grouping, std::size_t number, const std::vector<bool>& is_read) {
  const Graph& source = grouping.source;
  const Group& group = grouping.fusion.groups[number];
  const std::string name = fmt::format("kernel_{}", number);
  Lowered lowered = group.space.reduces() ? lower_rows(source, group, name) : lower(source, group, name);
  for (LoopNest& each : lowered.passes) each.contracts = source.fast_math;
  KernelUse use{{}, source.hints};
  for (const ValueId id : group.outputs) use.read_later.push_back(is_read[static_cast<std::size_t>(id)]);
  return group.target->schedule(std::move(lowered), use);
}

GroupNode outline_of(const std::shared_ptr<const Grouping>& grouping, std::size_t number,
                     ScheduledKernel kernel) {
  GroupNode node;
  node.inputs = kernel.lowered.inputs;
  const std::set<std::string> symbols = symbols_of(kernel.lowered);
  node.symbols.assign(symbols.begin(), symbols.end());
  const ValueId result = grouping->fusion.groups[number].outputs.front();
  const Device device = grouping->source.values[static_cast<std::size_t>(result)].type.device;
  std::vector<void*> no_code(kernel.lowered.passes.size(), nullptr);
  node.op = make_kernel_op({std::move(kernel), std::move(no_code), nullptr, node.symbols, device},
                           {grouping, number});
  return node;
}

}  // namespace

Graph lower_groups(Graph graph) {
  const std::shared_ptr<const Grouping> grouping = grouping_of(graph);
  if (!grouping) return graph;
  const std::vector<bool> is_read = read_elsewhere(grouping->source, grouping->fusion);
  std::vector<GroupNode> nodes;
  for (std::size_t k = 0; k < grouping->fusion.groups.size(); ++k)
    nodes.push_back(outline_of(grouping, k, loops_of(*grouping, k, is_read)));
  return place_groups(grouping->source, grouping->fusion, nodes);
}

}  // namespace kiln::jit
