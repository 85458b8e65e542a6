#include "jit/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "jit/lower.h"
#include "jit/text.h"

namespace kiln::jit {
namespace {

// Pointers and steps of a kernel's loop stay in registers, and its code in the first cache.
constexpr std::size_t kMostNodes = 64;
constexpr std::size_t kMostValues = 24;

class Grouper {
 public:
  explicit Grouper(const Graph& graph)
      : graph_(graph),
        producers_(graph.producers()),
        readers_(graph.nodes.size()),
        leader_(graph.nodes.size()) {
    std::iota(leader_.begin(), leader_.end(), 0);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      why_not_.push_back(why_not_lowered(graph, graph.nodes[i]));
      members_.push_back({static_cast<int>(i)});
    }
    connect();
  }

  Fusion run() {
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      for (const ValueId id : read_by(place)) join(producer(id), place);
    }
    collect();
    return std::move(fusion_);
  }

 private:
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  int producer(ValueId id) const { return producers_[static_cast<std::size_t>(id)]; }
  int leader(int place) const { return leader_[static_cast<std::size_t>(place)]; }
  const std::vector<int>& members(int place) const {
    return members_[static_cast<std::size_t>(leader(place))];
  }
  const Sizes& axes(int place) const {
    return graph_.values[static_cast<std::size_t>(node(place).outputs[0])].type.sizes;
  }
  bool is_lowered(int place) const { return why_not_[static_cast<std::size_t>(place)].empty(); }

  std::vector<ValueId> read_by(int place) const {
    std::vector<ValueId> read;
    for (const Operand& each : node(place).operands) {
      if (each.is_value() && producer(each.value) >= 0) read.push_back(each.value);
    }
    return read;
  }

  // What reads each node's results, and the next random draw after each: their order is fixed.
  void connect() {
    int last_draw = -1;
    for (int place = 0; place < static_cast<int>(graph_.nodes.size()); ++place) {
      for (const ValueId id : read_by(place))
        readers_[static_cast<std::size_t>(producer(id))].push_back(place);
      if (node(place).is_constant() || !node(place).op->has(kRandom)) continue;
      if (last_draw >= 0) readers_[static_cast<std::size_t>(last_draw)].push_back(place);
      last_draw = place;
    }
  }

  // The reason why the two stay apart; empty when they can be one kernel.
  std::string why_apart(int from, int to) {
    if (!is_lowered(from)) return why_not_[static_cast<std::size_t>(from)];
    if (!is_lowered(to)) return why_not_[static_cast<std::size_t>(to)];
    if (axes(from) != axes(to)) {
      return fmt::format("{} is read over {}: it would be computed again for each of those",
                         to_string(axes(from)), to_string(axes(to)));
    }
    if (members(from).size() + members(to).size() > kMostNodes || values_of(from, to) > kMostValues) {
      return "the kernel would be too large";
    }
    if (lies_between(from, to)) return "something that cannot be fused lies between";
    return "";
  }

  void join(int from, int to) {
    if (leader(from) == leader(to)) return;
    if (std::string reason = why_apart(from, to); !reason.empty()) {
      fusion_.unfused.push_back({from, to, std::move(reason)});
      return;
    }
    const int kept = std::min(leader(from), leader(to)), gone = std::max(leader(from), leader(to));
    auto& all = members_[static_cast<std::size_t>(kept)];
    for (const int each : members_[static_cast<std::size_t>(gone)]) {
      leader_[static_cast<std::size_t>(each)] = kept;
      all.push_back(each);
    }
    members_[static_cast<std::size_t>(gone)].clear();
    std::sort(all.begin(), all.end());
  }

  // How many tensors the kernel of both would read and write, at most.
  std::size_t values_of(int from, int to) const {
    std::set<ValueId> read, made;
    for (const int each : {from, to}) {
      for (const int member : members(each)) {
        made.insert(node(member).outputs[0]);
        for (const Operand& operand : node(member).operands) {
          if (operand.is_value()) read.insert(operand.value);
        }
      }
    }
    std::size_t count = 0;
    for (const ValueId id : read) count += made.contains(id) ? 0 : 1;
    for (const ValueId id : made) count += is_needed_outside(id, from, to) ? 1 : 0;
    return count;
  }
  bool is_needed_outside(ValueId id, int from, int to) const {
    const auto& readers = readers_[static_cast<std::size_t>(producer(id))];
    return readers.empty() || std::any_of(readers.begin(), readers.end(), [&](int reader) {
             return leader(reader) != leader(from) && leader(reader) != leader(to);
           });
  }

  // Does a way lead from one kernel to the other over a third? Then neither could run first.
  bool lies_between(int from, int to) const {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::vector<int> open;
    const auto visit = [&](int kernel) {  // everything that waits for any member
      for (const int member : members(kernel)) {
        for (const int reader : readers_[static_cast<std::size_t>(member)]) {
          const auto group = static_cast<std::size_t>(leader(reader));
          if (seen[group] || leader(reader) == leader(kernel)) continue;
          if (leader(reader) == leader(to) && leader(kernel) == leader(from)) continue;
          seen[group] = true;
          open.push_back(reader);
        }
      }
    };
    visit(from);
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (leader(next) == leader(to)) return true;
      visit(next);
    }
    return false;
  }

  void collect() {
    std::erase_if(fusion_.unfused,
                  [this](const Unfused& each) { return leader(each.producer) == leader(each.consumer); });
    fusion_.group_of.assign(graph_.nodes.size(), -1);
    for (const std::vector<int>& nodes : members_) {
      if (nodes.size() < 2) continue;
      for (const int each : nodes)
        fusion_.group_of[static_cast<std::size_t>(each)] = static_cast<int>(fusion_.groups.size());
      fusion_.groups.push_back({nodes, axes(nodes.front()), {}});
    }
    std::set<ValueId> kept;
    for (const Operand& each : graph_.outputs) kept.insert(each.value);
    kept.insert(graph_.saved.begin(), graph_.saved.end());
    for (const Effect& each : graph_.effects) kept.insert(each.value);
    for (Group& group : fusion_.groups) {
      for (const int each : group.nodes) {
        const auto& readers = readers_[static_cast<std::size_t>(each)];
        const ValueId id = node(each).outputs[0];
        // What nobody reads is there since it may fail.
        const bool outside = readers.empty() || std::any_of(readers.begin(), readers.end(), [&](int reader) {
                               return leader(reader) != leader(each);
                             });
        if (outside || kept.contains(id)) group.outputs.push_back(id);
      }
    }
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;
  std::vector<std::string> why_not_;
  std::vector<int> leader_;                // of the kernel that a node is in: its first node
  std::vector<std::vector<int>> members_;  // by leader
  Fusion fusion_;
};

}  // namespace

Fusion find_groups(const Graph& graph) { return Grouper(graph).run(); }

std::string print_fusion(const Graph& graph, const Fusion& fusion) {
  const std::vector<std::string> names = value_names(graph);
  const auto line = [&](int place) {
    return print_node(graph, graph.nodes[static_cast<std::size_t>(place)], names);
  };
  std::string text;
  for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
    text += fmt::format("kernel {} over {}\n", g, to_string(fusion.groups[g].axes));
    for (const int each : fusion.groups[g].nodes) text += "  " + line(each) + "\n";
  }
  for (const Unfused& each : fusion.unfused) {
    const Node& from = graph.nodes[static_cast<std::size_t>(each.producer)];
    const Node& to = graph.nodes[static_cast<std::size_t>(each.consumer)];
    text += fmt::format("{} to {}: {}\n", names[static_cast<std::size_t>(from.outputs[0])],
                        names[static_cast<std::size_t>(to.outputs[0])], each.reason);
  }
  return text;
}

}  // namespace kiln::jit
