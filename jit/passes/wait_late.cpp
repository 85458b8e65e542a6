// After starts are where they are: waits follow their order.
#include <algorithm>
#include <numeric>

#include "jit/graph/collectives.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// Waits in turn; every other node right behind the last wait that it needs, and before those that it does not
// need. So what one wait gives is computed with while the next is waited for.
class LateOrder {
 public:
  explicit LateOrder(const Graph& graph)
      : graph_(graph), before_(nodes_before(graph)), turn_(graph.nodes.size(), 0) {
    int turns = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (blocks(graph.nodes[i])) turn_[i] = ++turns;
    }
  }

  std::vector<int> run() {
    put_in_order_of_starts();
    return order();
  }

 private:
  // By node: the turn of the last wait that it is or needs; 0: none.
  std::vector<int> levels() const {
    std::vector<int> levels = turn_;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (const int each : before_[i])
        levels[i] = std::max(levels[i], levels[static_cast<std::size_t>(each)]);
    }
    return levels;
  }

  // Waits that nothing is begun behind may trade turns: what was begun first is there first.
  void put_in_order_of_starts() {
    const std::vector<int> level = levels();
    int last = 0;  // the turn after which nothing begins
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (submits(graph_.nodes[i])) last = std::max(last, level[i]);
    }
    const std::vector<int> producers = graph_.producers();
    std::vector<std::pair<int, std::size_t>> waits;  // by where they were begun
    std::vector<int> turns;
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (turn_[i] <= last) continue;
      const ValueId token = graph_.nodes[i].operands[0].value;
      waits.emplace_back(token < 0 ? -1 : producers[static_cast<std::size_t>(token)], i);
      turns.push_back(turn_[i]);
    }
    std::ranges::sort(waits);
    for (std::size_t k = 0; k < waits.size(); ++k) turn_[waits[k].second] = turns[k];
  }

  std::vector<int> order() const {
    const std::vector<int> level = levels();
    std::vector<int> order(level.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int place) {
      const auto at = static_cast<std::size_t>(place);
      return std::pair(level[at], turn_[at] != 0 ? 0 : 1);
    };
    std::ranges::stable_sort(order, {}, key);
    return order;
  }

  const Graph& graph_;
  const std::vector<std::vector<int>> before_;
  std::vector<int> turn_;  // by node: of those that wait; 0 for others
};

}  // namespace

Graph wait_late(Graph graph) {
  if (!has_collectives(graph) || !may_reorder(graph)) return graph;
  return in_order(graph, LateOrder(graph).run());
}

}  // namespace kiln::jit
