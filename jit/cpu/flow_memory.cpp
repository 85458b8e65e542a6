// Which tensors of a flow are kept in registers, and in which memory the others are.
#include <algorithm>

#include "jit/cpu/flow_liveness.h"
#include "jit/cpu/flow_plan.h"

namespace kiln::jit {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(FlowPlan& plan, InputMemory inputs)
      : plan_(plan), inputs_(inputs), flow_(*plan.flow), shown_(memory_shown(flow_)), liveness_(flow_) {}

  void run() {
    find_written();
    choose_registers();
    each_step([this](const FlowStep& step, const FlowStepPlan& plan) {
      if (plan.deferred) deferred_[static_cast<std::size_t>(step.node.outputs[0])] = &step.node;
    });
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      for (std::size_t k = 0; k < flow_.blocks[b].steps.size(); ++k) plan_step(static_cast<BlockId>(b), k);
    }
  }

 private:
  FlowValuePlan& value(ValueId id) { return plan_.values[static_cast<std::size_t>(id)]; }
  const ValueSet& shown(ValueId id) const { return shown_[static_cast<std::size_t>(id)]; }
  bool is_input(ValueId id) const { return id < static_cast<ValueId>(flow_.inputs.size()); }

  template <class F>
  void each_step(const F& f) {
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      for (std::size_t k = 0; k < flow_.blocks[b].steps.size(); ++k)
        f(flow_.blocks[b].steps[k], plan_.steps[b][k]);
    }
  }

  void find_written() {
    plan_.written.assign(flow_.inputs.size(), false);
    each_step([this](const FlowStep& step, const FlowStepPlan&) {
      if (!step.node.writes()) return;
      for (const ValueId each : shown(step.node.operands[0].value))
        if (is_input(each)) plan_.written[static_cast<std::size_t>(each)] = true;
    });
  }

  // ---- Registers ----

  void choose_registers() {
    for (std::size_t i = 0; i < flow_.inputs.size(); ++i)
      propose(static_cast<ValueId>(i), inputs_ == InputMemory::Apart && !plan_.written[i]);
    for (const FlowBlock& block : flow_.blocks) {
      for (const ValueId each : block.parameters) propose(each, true);
    }
    each_step([this](const FlowStep& step, const FlowStepPlan& plan) {
      for (const ValueId each : step.node.outputs) propose(each, plan.of_elements && !step.node.writes());
    });
    each_step([this](const FlowStep& step, const FlowStepPlan&) {
      if (step.node.writes() || step.node.is_view()) value(step.node.operands[0].value).in_register = false;
    });
    for (const FlowExit& each : flow_.exits) tell_apart(each);
    while (agree()) {
    }
  }
  void propose(ValueId id, bool may) {
    const Type& type = flow_.type(id);
    value(id).in_register = may && !type.is_number && type.sizes.empty();
  }
  // Two values that may be one tensor must be so behind the exit.
  void tell_apart(const FlowExit& exit) {
    for (const Operand& a : exit.values) {
      for (const Operand& b : exit.values) {
        if (!a.is_value() || !b.is_value() || a.value == b.value) continue;
        const bool may_be_one = std::any_of(shown(a.value).begin(), shown(a.value).end(), [&](ValueId each) {
          return !is_input(each) && shown(b.value).contains(each);
        });
        if (may_be_one) value(a.value).in_register = value(b.value).in_register = false;
      }
    }
  }
  // A parameter is in a register where all its arguments are. Says whether it changed something.
  bool agree() {
    bool changed = false;
    for (const FlowBlock& block : flow_.blocks) {
      if (block.end.kind == FlowEnd::Kind::Leave) continue;
      changed = agree(block.end.then) || changed;
      if (block.end.kind == FlowEnd::Kind::Branch) changed = agree(block.end.other) || changed;
    }
    return changed;
  }
  bool agree(const FlowEnd::Target& target) {
    bool changed = false;
    const FlowBlock& to = flow_.blocks[static_cast<std::size_t>(target.block)];
    for (std::size_t k = 0; k < to.parameters.size(); ++k) {
      const Operand& from = target.arguments[k];
      if (!from.is_value() || flow_.type(from.value).is_number) continue;
      bool& a = value(from.value).in_register;
      bool& b = value(to.parameters[k]).in_register;
      changed = changed || a != b;
      a = b = a && b;
    }
    return changed;
  }

  // ---- Memory ----

  void plan_step(BlockId block, std::size_t index) {
    const FlowStep& step = flow_.blocks[static_cast<std::size_t>(block)].steps[index];
    FlowStepPlan& plan = plan_.steps[static_cast<std::size_t>(block)][index];
    if (plan.call < 0) return;
    if (step.node.writes()) {
      const bool is_loop =
          plan.kind == FlowStepPlan::Kind::Pointwise || plan.kind == FlowStepPlan::Kind::Copy;
      if (is_loop && !plan.of_elements) plan.apart = plan_.slots++;
      return;
    }
    ValueSet around = liveness_.around(block, index);
    add_read_later(around);
    for (const ValueId id : step.node.outputs) {
      FlowMemory& memory = plan.memory.emplace_back();
      if (value(id).in_register && plan.of_elements) continue;
      for (const ValueId each : around) {
        const bool may_hold = each != id && !flow_.type(each).is_number && !value(each).in_register;
        if (may_hold && shown(each).contains(id)) memory.held.push_back(each);
      }
      memory.first = plan_.slots;
      memory.count = static_cast<int>(memory.held.size()) + 1;
      plan_.slots += memory.count;
    }
  }

  // What is computed where it is read has its operands read there.
  void add_read_later(ValueSet& live) const {
    std::vector<ValueId> left(live.begin(), live.end());
    while (!left.empty()) {
      const Node* const node = deferred_[static_cast<std::size_t>(left.back())];
      left.pop_back();
      if (node == nullptr) continue;
      for (const Operand& each : node->operands)
        if (each.is_value() && live.insert(each.value).second) left.push_back(each.value);
    }
  }

  FlowPlan& plan_;
  InputMemory inputs_;
  const FlowGraph& flow_;
  std::vector<ValueSet> shown_;
  FlowLiveness liveness_;
  std::vector<const Node*> deferred_{
      flow_.values.size()};  // by value: the step that is left to the value's reader
};

}  // namespace

void plan_memory(FlowPlan& plan, InputMemory inputs) { MemoryPlanner(plan, inputs).run(); }

}  // namespace kiln::jit
