#include "jit/loops/place_groups.h"

#include <functional>
#include <queue>

#include "jit/graph/rewrite.h"

namespace kiln::jit {
namespace {

// The order in which nodes and kernels run: what each reads comes before it, else as in the graph.
class PlacedOrder {
 public:
  PlacedOrder(const Graph& graph, const Fusion& fusion) : graph_(graph), fusion_(fusion) {
    waits_.resize(graph.nodes.size(), 0);
    readers_.resize(graph.nodes.size());
    const std::vector<int> producers = graph.producers();
    int last_draw = -1;
    for (int to = 0; to < static_cast<int>(graph.nodes.size()); ++to) {
      const Node& node = graph.nodes[static_cast<std::size_t>(to)];
      for (const Operand& each : node.operands) {
        if (each.is_value()) edge(producers[static_cast<std::size_t>(each.value)], to);
      }
      if (node.is_constant() || !node.op->is_ordered()) continue;
      edge(last_draw, to);
      last_draw = to;
    }
  }

  // Calls f(place) for each node that runs alone, and for the first of each group.
  template <class F>
  void each(F&& f) {
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      if (unit(place) == place && waits_[static_cast<std::size_t>(place)] == 0) ready.push(place);
    }
    while (!ready.empty()) {
      const int place = ready.top();
      ready.pop();
      f(place);
      for (const int reader : readers_[static_cast<std::size_t>(place)]) {
        if (--waits_[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
  }

 private:
  // The node that stands for the kernel of a node.
  int unit(int place) const {
    const int group = fusion_.group_of[static_cast<std::size_t>(place)];
    return group < 0 ? place : fusion_.groups[static_cast<std::size_t>(group)].nodes.front();
  }
  void edge(int from, int to) {
    if (from < 0 || unit(from) == unit(to)) return;
    readers_[static_cast<std::size_t>(unit(from))].push_back(unit(to));
    ++waits_[static_cast<std::size_t>(unit(to))];
  }

  const Graph& graph_;
  const Fusion& fusion_;
  std::vector<int> waits_;
  std::vector<std::vector<int>> readers_;
};

// Puts a node in the place of each group.
class Placer {
 public:
  Placer(const Graph& graph, const Fusion& fusion, std::span<const GroupNode> nodes)
      : graph_(graph), fusion_(fusion), nodes_(nodes), rewriter_(graph) {
    rewriter_.graph.stage = Stage::Fused;
    rewriter_.graph.own_ops.clear();
    for (const GroupNode& each : nodes) rewriter_.graph.own_ops.push_back(each.op);
  }

  Graph run() {
    PlacedOrder(graph_, fusion_).each([this](int place) {
      const int group = fusion_.group_of[static_cast<std::size_t>(place)];
      if (group < 0) {
        rewriter_.copy(graph_.nodes[static_cast<std::size_t>(place)]);
      } else {
        put(static_cast<std::size_t>(group));
      }
    });
    return rewriter_.finish();
  }

 private:
  void put(std::size_t index) {
    const Group& group = fusion_.groups[index];
    const GroupNode& given = nodes_[index];
    Node node;
    node.op = given.op.get();
    Dims symbols;
    for (const std::string& each : given.symbols) symbols.push_back(Dim::symbol(each));
    node.attrs = {symbols};
    for (const ValueId id : given.inputs) node.operands.push_back(Operand::of(rewriter_.at(id)));
    node.place = graph_.nodes[static_cast<std::size_t>(group.nodes.back())].place;
    for (const int each : group.nodes) {
      const Place& place = graph_.nodes[static_cast<std::size_t>(each)].place;
      node.place.lineage = Lineage::joined(node.place.lineage, place.lineage);
    }
    std::vector<Type> types;
    std::vector<std::string> names;
    for (const ValueId id : group.outputs) {
      types.push_back(graph_.values[static_cast<std::size_t>(id)].type);
      names.push_back(graph_.values[static_cast<std::size_t>(id)].name);
    }
    const std::vector<ValueId> made = rewriter_.append(std::move(node), std::move(types), names);
    for (std::size_t k = 0; k < made.size(); ++k) rewriter_.map(group.outputs[k], made[k]);
  }

  const Graph& graph_;
  const Fusion& fusion_;
  std::span<const GroupNode> nodes_;  // by group
  Rewriter rewriter_;
};

}  // namespace

Graph place_groups(const Graph& graph, const Fusion& fusion, std::span<const GroupNode> nodes) {
  return Placer(graph, fusion, nodes).run();
}

}  // namespace kiln::jit
