// Before groups are found: values that kernels read at shifted places are computed in these kernels, once for
// each place, where that is cheaper than their way through memory. A Laplacian whose differences are taken is
// one kernel then.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "jit/loops/shifted_reads.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

class Inliner {
 public:
  Inliner(const Graph& graph, std::vector<ShiftedRead> reads)
      : graph_(graph), producers_(graph.producers()), reads_(std::move(reads)), rewriter_(graph) {
    for (const Operand& each : graph.outputs) kept_.insert(each.value);
    kept_.insert(graph.saved.begin(), graph.saved.end());
    for (const Effect& each : graph.effects) kept_.insert({each.value, each.input});
    const std::vector<std::string> names = value_names(graph);
    for (const ShiftedRead& each : reads_) {
      by_value_[each.value] = &each;
      rewriter_.graph.notes.push_back(
          fmt::format("{} {}", names[static_cast<std::size_t>(each.value)], why_computed_again(each)));
    }
  }

  Graph run() {
    for (const Node& node : graph_.nodes) {
      rewriter_.copy(node);
      // Results stay apart, however alike they are.
      if (!is_box(graph_, node) || kept_.contains(node.outputs[0])) continue;
      const Box box = box_of(graph_, producers_, node.outputs[0]);
      const auto found = by_value_.find(box.base);
      // Equal boxes are one load, however the program wrote them.
      rewriter_.map(node.outputs[0],
                    found == by_value_.end() ? shown(box, node) : computed(*found->second, box));
    }
    return rewriter_.finish();
  }

 private:
  ValueId computed(const ShiftedRead& read, const Box& box) {
    const auto [found, is_new] = made_.try_emplace(box, Operand::kAbsent);
    if (!is_new) return found->second;
    const Dims& whole = graph_.values[static_cast<std::size_t>(read.value)].type.sizes;
    std::map<ValueId, ValueId> now;
    for (const int place : read.nodes) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(place)];
      Node made = node;
      for (Operand& each : made.operands) {
        if (!each.is_value()) continue;
        const auto own = now.find(each.value);
        each = Operand::of(own != now.end() ? own->second : operand(each.value, whole, box.cuts, node));
      }
      const Value& known = graph_.values[static_cast<std::size_t>(node.outputs[0])];
      Type type = known.type;
      type.sizes = sizes_within(type.sizes, box.cuts);
      type.strides.reset();
      now[node.outputs[0]] = rewriter_.append(std::move(made), {std::move(type)}, {&known.name, 1})[0];
    }
    return made_[box] = now.at(read.value);
  }
  ValueId operand(ValueId id, const Dims& whole, const Cuts& cuts, const Node& like) {
    const Dims& sizes = graph_.values[static_cast<std::size_t>(id)].type.sizes;
    const Box stored = box_of(graph_, producers_, id);
    return shown({stored.base, joined(stored.cuts, cuts_of_operand(sizes, whole, cuts))}, like);
  }
  ValueId shown(const Box& box, const Node& like) {
    const auto [found, is_new] = made_.try_emplace(box, Operand::kAbsent);
    if (is_new) found->second = append_box(rewriter_, rewriter_.at(box.base), box.cuts, like);
    return found->second;
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<ShiftedRead> reads_;
  std::map<ValueId, const ShiftedRead*> by_value_;
  std::set<ValueId> kept_;       // for the graph's caller
  std::map<Box, ValueId> made_;  // by what it shows in the graph
  Rewriter rewriter_;
};

// Those that pay, without values that others of them are computed from: how often these are read is known
// when the others are in place.
std::vector<ShiftedRead> last_that_pay(std::vector<ShiftedRead> reads) {
  std::vector<ShiftedRead> chosen;
  for (ShiftedRead& each : reads) {
    const bool is_read = std::ranges::any_of(chosen, [&](const ShiftedRead& other) {
      return std::ranges::any_of(other.operands, [&](const Box& box) { return box.base == each.value; });
    });
    if (each.pays() && !is_read) chosen.push_back(std::move(each));
  }
  return chosen;
}

}  // namespace

Graph inline_shifted(Graph graph) {
  if (!graph.is_functional() || graph.stage == Stage::Fused) return graph;
  constexpr int kMostRounds = 8;  // stencils of stencils that are found in one graph
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<ShiftedRead> chosen = last_that_pay(shifted_reads(graph));
    if (chosen.empty()) break;
    graph = dce(cse(Inliner(graph, std::move(chosen)).run()));
  }
  return graph;
}

}  // namespace kiln::jit
