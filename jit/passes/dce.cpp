// After passes that leave the old beside the new.
#include <algorithm>

#include "jit/graph/rewrite.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// Nodes whose results an output, an effect or a node that stays needs. Writes stay, and what must run.
std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> value_needed(graph.values.size(), false), needed(graph.nodes.size(), false);
  const auto need = [&value_needed](ValueId id) { value_needed[static_cast<std::size_t>(id)] = true; };
  for (const Operand& each : graph.outputs) {
    if (each.is_value()) need(each.value);
  }
  for (const ValueId id : graph.saved) need(id);
  for (const Effect& each : graph.effects) {
    need(each.value);
    need(each.input);
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    needed[i] = node.writes() || must_run(graph, node) ||
                std::any_of(node.outputs.begin(), node.outputs.end(),
                            [&](ValueId id) { return value_needed[static_cast<std::size_t>(id)]; });
    if (!needed[i]) continue;
    for (const Operand& each : node.operands) {
      if (each.is_value()) need(each.value);
    }
  }
  return needed;
}

}  // namespace

Graph dce(Graph graph) {
  const std::vector<bool> needed = needed_nodes(graph);
  const bool all = std::find(needed.begin(), needed.end(), false) == needed.end();
  if (all && is_in_order(graph)) return graph;
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (needed[i]) rewriter.copy(graph.nodes[i]);
  }
  return rewriter.finish();
}

}  // namespace kiln::jit
