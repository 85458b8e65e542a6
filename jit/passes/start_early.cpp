// After kernels are found, which decide when an operand is there.
#include <numeric>

#include "jit/graph/collectives.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

// The nodes in order, but each start as soon as all is there that it comes behind.
class EarlyOrder {
 public:
  explicit EarlyOrder(const Graph& graph)
      : graph_(graph), before_(nodes_before(graph)), is_done_(graph.nodes.size(), false) {}

  std::vector<int> run() {
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (is_start(graph_.nodes[static_cast<std::size_t>(place)])) starts_.push_back(place);
    }
    add_ready_starts();
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (is_done_[static_cast<std::size_t>(place)]) continue;
      add(place);
      add_ready_starts();
    }
    return std::move(order_);
  }

 private:
  void add(int place) {
    order_.push_back(place);
    is_done_[static_cast<std::size_t>(place)] = true;
  }
  bool is_ready(int place) const {
    return std::ranges::all_of(before_[static_cast<std::size_t>(place)],
                               [this](int each) { return is_done_[static_cast<std::size_t>(each)]; });
  }
  void add_ready_starts() {
    std::erase_if(starts_, [this](int place) {
      const bool is_done = is_done_[static_cast<std::size_t>(place)];
      if (!is_done && is_ready(place)) add(place);
      return is_done_[static_cast<std::size_t>(place)];
    });
  }

  const Graph& graph_;
  const std::vector<std::vector<int>> before_;
  std::vector<bool> is_done_;
  std::vector<int> starts_;  // to be done, in order
  std::vector<int> order_;
};

}  // namespace

Graph start_early(Graph graph) {
  if (!has_collectives(graph) || !may_reorder(graph)) return graph;
  return in_order(graph, EarlyOrder(graph).run());
}

}  // namespace kiln::jit
