#include "jit/graph/collectives.h"

#include <algorithm>
#include <utility>

#include "jit/graph/rewrite.h"
#include "tensor/core_ops.h"

namespace kiln::jit {
namespace {

bool has_effect(const Node& node, std::uint32_t effects) {
  return !node.is_constant() && (node.op->effects & effects) != 0;
}

// Does it what the program sees, in order with all that does?
bool does_ordered(const Node& node) { return has_effect(node, kOrdered); }

// Is one of the lines empty, or is there none for an operand?
bool lacks_line(const std::string& lines, std::size_t count) {
  if (lines.empty() || lines.front() == '\n' || lines.back() == '\n') return true;
  return lines.find("\n\n") != std::string::npos ||
         static_cast<std::size_t>(std::ranges::count(lines, '\n')) + 1 < count;
}

}  // namespace

bool communicates(const Node& node) { return !node.is_constant() && node.op->communicates(); }
bool is_start(const Node& node) { return node.op == &core_ops().allreduce_start; }
bool is_wait(const Node& node) { return node.op == &core_ops().allreduce_wait; }

bool has_unnamed(const Node& node) {
  if (!submits(node)) return false;
  if (is_start(node)) return lacks_line(std::get<std::string>(node.attr("names")), node.operands.size());
  const bool is_row = OpTable::get().has(*node.op);
  return !is_row || std::get<std::string>(node.attr("name")).empty();
}

bool has_collectives(const Graph& graph) { return std::ranges::any_of(graph.nodes, communicates); }

std::vector<std::vector<int>> nodes_before(const Graph& graph) {
  const std::vector<int> producers = graph.producers();
  std::vector<std::vector<int>> before(graph.nodes.size());
  int last_draw = -1, last_unnamed = -1;
  for (int place = 0; place < static_cast<int>(graph.nodes.size()); ++place) {
    const Node& node = graph.nodes[static_cast<std::size_t>(place)];
    const auto follow = [&](int other) {
      if (other >= 0) before[static_cast<std::size_t>(place)].push_back(other);
    };
    for (const Operand& each : node.operands) {
      if (each.is_value()) follow(producers[static_cast<std::size_t>(each.value)]);
    }
    if (has_effect(node, kDraws)) follow(std::exchange(last_draw, place));
    if (has_unnamed(node)) follow(std::exchange(last_unnamed, place));
  }
  return before;
}

bool may_reorder(const Graph& graph) {
  return graph.is_functional() && std::ranges::none_of(graph.nodes, [](const Node& each) {
           return does_ordered(each) || each.writes();
         });
}

Graph in_order(const Graph& graph, const std::vector<int>& order) {
  if (std::ranges::is_sorted(order)) return graph;
  Rewriter rewriter(graph);
  for (const int each : order) rewriter.copy(graph.nodes[static_cast<std::size_t>(each)]);
  return rewriter.finish();
}

}  // namespace kiln::jit
