#include "jit/loops/shifted_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jit/graph/filled.h"
#include "jit/loops/loops.h"
#include "jit/passes/lowerable.h"
#include "jit/passes/target.h"
#include "tensor/ops/pointwise.h"

namespace kiln::jit {
namespace {

class ShiftFinder {
 public:
  explicit ShiftFinder(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), readers_(graph.values.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const Operand& each : graph.nodes[n].operands) note(each, static_cast<int>(n));
    }
    for (const Operand& each : graph.outputs) note(each, kOutside);
    for (const Effect& each : graph.effects) {
      note(Operand::of(each.value), kOutside);
      note(Operand::of(each.input), kOutside);
    }
    for (const ValueId id : graph.saved) note(Operand::of(id), kOutside);
  }

  std::vector<ShiftedRead> run() {
    std::vector<ShiftedRead> found;
    for (int place = static_cast<int>(graph_.nodes.size()) - 1; place >= 0; --place) {
      if (!is_computed(place)) continue;
      ShiftedRead read;
      read.value = node(place).outputs[0];
      std::set<Cuts> boxes;
      if (!add_boxes(read.value, Cuts(type(read.value).sizes.size()), boxes) || boxes.size() < 2) continue;
      read.boxes.assign(boxes.begin(), boxes.end());
      collect_nodes(place, read);
      collect_operands(read);
      if (read.why_not.empty()) weigh(read);
      found.push_back(std::move(read));
    }
    return found;
  }

 private:
  static constexpr int kOutside = -1;

  void note(const Operand& each, int reader) {
    if (each.is_value()) readers_[static_cast<std::size_t>(each.value)].push_back(reader);
  }
  const Node& node(int place) const { return graph_.nodes[static_cast<std::size_t>(place)]; }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }
  int producer(ValueId id) const { return producers_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }

  bool is_lowered(int place) const {
    return place != kOutside && why_not_lowered(graph_, node(place)).empty();
  }
  // Does a kernel compute the node element by element, whatever the elements are?
  bool is_computed(int place) const {
    const Node& each = node(place);
    return !each.is_constant() && each.op->lowering == Lowering::Pointwise && is_lowered(place) &&
           !type(each.outputs[0]).sizes.empty() &&
           (each.op->pointwise == nullptr || each.op->pointwise->failure.empty());
  }

  // Adds the boxes of a value that kernels read. False where something else reads one, or the whole value.
  bool add_boxes(ValueId id, const Cuts& cuts, std::set<Cuts>& boxes) const {
    for (const int reader : readers(id)) {
      if (reader != kOutside && is_box(graph_, node(reader))) {
        const Cuts inner = box_of(graph_, producers_, node(reader).outputs[0]).cuts;
        if (!add_boxes(node(reader).outputs[0], inner, boxes)) return false;
      } else {
        const bool is_whole = cuts == Cuts(cuts.size());
        if (is_whole || !is_lowered(reader) || is_gather_load(graph_, node(reader))) return false;
        boxes.insert(cuts);
      }
    }
    return true;
  }

  // The nodes that nothing needs but the value of the last one.
  void collect_nodes(int last, ShiftedRead& read) const {
    std::set<int> open = {last}, nodes;
    while (!open.empty()) {
      const int place = *open.rbegin();
      open.erase(place);
      nodes.insert(place);
      for (const Operand& each : node(place).operands) {
        if (!each.is_value() || producer(each.value) < 0 || !is_computed(producer(each.value))) continue;
        const auto& all = readers(each.value);
        const bool is_own =
            std::all_of(all.begin(), all.end(), [&](int reader) { return nodes.contains(reader); });
        if (is_own && same(type(each.value).sizes, type(read.value).sizes)) open.insert(producer(each.value));
      }
    }
    read.nodes.assign(nodes.begin(), nodes.end());
  }

  void collect_operands(ShiftedRead& read) const {
    std::set<Box> operands;
    for (const int place : read.nodes) {
      for (const Operand& each : node(place).operands) {
        if (!each.is_value() || type(each.value).sizes.empty() || is_own(producer(each.value), read))
          continue;
        if (!is_stored(each.value)) read.why_not = "what it is computed from would have to be stored";
        if (!is_cut_alike(type(each.value).sizes, type(read.value).sizes))
          read.why_not = "the sizes of what it is computed from are equal to its own in some calls alone";
        operands.insert(box_of(graph_, producers_, each.value));
      }
    }
    read.operands.assign(operands.begin(), operands.end());
  }
  // Is each dimension of the operand that of the result, or broadcast, for all values of the symbols?
  static bool is_cut_alike(const Dims& operand, const Dims& result) {
    const std::size_t extra = result.size() - operand.size();
    for (std::size_t d = 0; d < operand.size(); ++d) {
      if (!same(operand[d], result[d + extra]) && !same(operand[d], 1)) return false;
    }
    return true;
  }
  static bool is_own(int place, const ShiftedRead& read) {
    return std::binary_search(read.nodes.begin(), read.nodes.end(), place);
  }
  // Is the value in memory, whatever becomes of its readers?
  bool is_stored(ValueId id) const {
    const int place = producer(id);
    return place < 0 || node(place).is_constant() || node(place).is_view() || filled_with(node(place)) ||
           !is_lowered(place);
  }

  void weigh(ShiftedRead& read) const {
    const Type& made = type(read.value);
    const KernelLimits& limits = target_of(made.device)->limits;
    std::int64_t work = 0;
    for (const int place : read.nodes) work += work_of(*node(place).op);
    std::set<Box> loads;
    for (const Cuts& cuts : read.boxes) {
      for (const Box& each : read.operands) {
        const Dims& sizes = type(each.base).sizes;
        loads.insert({each.base,
                      joined(each.cuts, cuts_of_operand(sizes_within(sizes, each.cuts), made.sizes, cuts))});
      }
    }
    const auto boxes = static_cast<std::int64_t>(read.boxes.size());
    // Loads count as additions. Without the value its readers load no boxes of it.
    read.more = (boxes - 1) * work + static_cast<std::int64_t>(loads.size()) -
                static_cast<std::int64_t>(read.operands.size()) - boxes;
    const std::int64_t bytes =
        count_elements(evaluate(made.sizes, graph_.hints)) * static_cast<std::int64_t>(size_of(made.dtype));
    read.saved = bytes < limits.passing.near_bytes  ? limits.passing.near
                 : bytes < limits.passing.far_bytes ? limits.passing.far
                                                    : limits.passing.memory;
    // The nodes that read it have other operands, too.
    const std::size_t most_loads = limits.values * 2 / 3;
    if (boxes * work > limits.work || loads.size() > most_loads)
      read.why_not = "a kernel that computes each of them would be too large";
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::vector<std::vector<int>> readers_;  // of values: nodes, and the graph's caller
};

}  // namespace

std::vector<ShiftedRead> shifted_reads(const Graph& graph) { return ShiftFinder(graph).run(); }

std::string why_computed_again(const ShiftedRead& read) {
  return fmt::format(
      "is computed where it is read, at {} shifted places: {} additions more for an element, its way through "
      "memory takes as long as {}",
      read.boxes.size(), std::max<std::int64_t>(read.more, 0), read.saved);
}

std::string why_not_computed_again(const ShiftedRead& read) {
  const std::string places = fmt::format("it is read at {} shifted places", read.boxes.size());
  if (!read.why_not.empty()) return fmt::format("{}, and {}", places, read.why_not);
  return fmt::format(
      "{}: to compute it at each would take {} additions more for an element, its way through memory takes "
      "as "
      "long as {}",
      places, read.more, read.saved);
}

Cuts cuts_of_operand(const Dims& operand, const Dims& result, const Cuts& cuts) {
  Cuts own(operand.size());
  const std::size_t extra = result.size() - operand.size();
  for (std::size_t d = 0; d < operand.size(); ++d) {
    if (same(operand[d], result[d + extra])) own[d] = cuts[d + extra];
  }
  return own;
}

}  // namespace kiln::jit
