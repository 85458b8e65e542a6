// Which results of a flow are computed where they are read, instead of through memory.
#include <algorithm>
#include <limits>
#include <optional>

#include "jit/cpu/flow_plan.h"

namespace kiln::jit {
namespace {

using Kind = FlowStepPlan::Kind;

class FusionPlanner {
 public:
  explicit FusionPlanner(FlowPlan& plan)
      : plan_(plan),
        flow_(*plan.flow),
        uses_(flow_.values.size()),
        shown_(flow_.values.size()),
        users_(flow_.exits.size()) {}

  void run() {
    count_uses();
    find_users();
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) plan_block(b);
  }

 private:
  void count(const Operand& operand) {
    if (operand.is_value()) ++uses_[static_cast<std::size_t>(operand.value)];
  }
  void count(const std::vector<Operand>& operands) {
    for (const Operand& each : operands) count(each);
  }
  void count_uses() {
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& each : block.steps) count(each.node.operands);
      count(block.end.then.arguments);
      count(block.end.other.arguments);
    }
    for (std::size_t k = 0; k < flow_.exits.size(); ++k) {
      for (const Operand& each : flow_.exits[k].values)
        if (each.is_value()) shown_[static_cast<std::size_t>(each.value)].push_back(k);
    }
  }
  void find_users() {
    const auto add = [this](ExitId exit, User user) {
      if (exit >= 0) users_[static_cast<std::size_t>(exit)].push_back(user);
    };
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      const FlowBlock& block = flow_.blocks[b];
      for (std::size_t k = 0; k < block.steps.size(); ++k) add(block.steps[k].exit, {b, k});
      add(block.interrupted, {b, kNoStep});
      if (block.end.kind == FlowEnd::Kind::Leave) add(block.end.exit, {b, kNoStep});
    }
  }

  // From the last step to the first, since a step is left to its readers where these are left to one step.
  void plan_block(std::size_t block) {
    const std::size_t count = flow_.blocks[block].steps.size();
    loop_of_.resize(count);
    for (std::size_t k = count; k-- > 0;) {
      const std::optional<std::size_t> reader = common_reader(block, k);
      plan_.steps[block][k].deferred = reader.has_value();
      loop_of_[k] = reader.value_or(k);
    }
  }

  // The step in whose loop the elements that step `place` makes are computed: all that read it, or that are
  // left to be read on the way, are in that loop, and nothing is written before. Nothing where there is no
  // such step.
  std::optional<std::size_t> common_reader(std::size_t block, std::size_t place) const {
    const FlowStep& step = flow_.blocks[block].steps[place];
    const FlowStepPlan& plan = plan_.steps[block][place];
    const bool is_elementwise = plan.kind == Kind::Pointwise || plan.kind == Kind::Copy;
    if (!is_elementwise || plan.of_elements || step.node.writes() || plan.application.failure >= 0)
      return std::nullopt;
    const ValueId made = step.node.outputs[0];
    const std::vector<FlowStep>& steps = flow_.blocks[block].steps;
    std::optional<std::size_t> reader;
    int uses = 0;
    for (std::size_t k = place + 1; k < steps.size(); ++k) {
      const std::vector<Operand>& read = steps[k].node.operands;
      const auto times = std::count(read.begin(), read.end(), Operand::of(made));
      if (times == 0) continue;
      const bool is_same_loop = !reader || *reader == loop_of_[k];
      if (!is_same_loop || !takes(plan_.steps[block][k], steps[k].node, made)) return std::nullopt;
      reader = loop_of_[k];
      uses += static_cast<int>(times);
    }
    if (!reader || uses != uses_[static_cast<std::size_t>(made)]) return std::nullopt;
    const auto at = [&steps](std::size_t k) { return steps.begin() + static_cast<std::ptrdiff_t>(k); };
    const bool is_written_before = std::any_of(at(place + 1), at(*reader), [](const FlowStep& each) {
      return !each.node.is_constant() && each.node.writes();
    });
    if (is_written_before || !is_shown_before(made, block, place, *reader)) return std::nullopt;
    return reader;
  }

  // Do only exits show it that are taken behind step `place` of the block, and no later than `reader` begins?
  // It is computed there from what is still as it was.
  bool is_shown_before(ValueId made, std::size_t block, std::size_t place, std::size_t reader) const {
    const std::vector<std::size_t>& exits = shown_[static_cast<std::size_t>(made)];
    return std::all_of(exits.begin(), exits.end(), [&](std::size_t exit) {
      return std::all_of(users_[exit].begin(), users_[exit].end(), [&](const User& each) {
        return each.block == block && each.step > place && each.step <= reader;
      });
    });
  }

  // Can the reader compute it within its loop?
  bool takes(const FlowStepPlan& plan, const Node& reader, ValueId made) const {
    const Type& type = flow_.type(made);
    if (plan.of_elements) return false;
    switch (plan.kind) {
      case Kind::Pointwise:
        if (reader.writes() && plan.application.failure >= 0) return false;
        break;
      case Kind::Copy:
        if (!plan.dims.empty() || reader.operands.back() != Operand::of(made)) return false;
        break;
      case Kind::Reduce:
        return type.sizes.size() == 1;
      default:
        return false;
    }
    return !(reader.writes() && reader.operands[0] == Operand::of(made)) &&
           same(type.sizes, flow_.type(reader.outputs[0]).sizes);
  }

  FlowPlan& plan_;
  const FlowGraph& flow_;
  struct User {
    std::size_t block, step;
  };
  static constexpr std::size_t kNoStep = std::numeric_limits<std::size_t>::max();
  std::vector<int> uses_;                        // by value: by steps and ways to other blocks
  std::vector<std::size_t> loop_of_;             // by step of the block: that in whose loop it is computed
  std::vector<std::vector<std::size_t>> shown_;  // by value: the exits that show it
  std::vector<std::vector<User>> users_;         // by exit: who leaves by it
};

}  // namespace

void plan_fusion(FlowPlan& plan) { FusionPlanner(plan).run(); }

}  // namespace kiln::jit
