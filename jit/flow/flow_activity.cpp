#include "jit/flow/flow_activity.h"

#include <algorithm>

namespace kiln::jit {
namespace {

template <class F>
void each_target(const FlowEnd& end, const F& f) {
  if (end.kind == FlowEnd::Kind::Leave) return;
  f(end.then);
  if (end.kind == FlowEnd::Kind::Branch) f(end.other);
}

}  // namespace

FlowActivity::FlowActivity(const FlowGraph& flow, const std::vector<bool>& wanted, ExitId exit)
    : flow_(flow),
      roots_(flow.values.size()),
      shown_by_(flow.values.size(), nullptr),
      made_in_(flow.values.size(), 0),
      groups_(flow.values.size()),
      active_(flow.values.size(), false),
      written_(flow.values.size(), false),
      in_memory_(flow.values.size(), false) {
  for (std::size_t id = 0; id < flow.values.size(); ++id) {
    roots_[id] = static_cast<ValueId>(id);
    groups_[id] = id;
  }
  find_roots();
  find_groups();
  for (std::size_t i = 0; i < flow.inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    in_memory_[group(id)] = true;
    if (wanted[i]) active_[group(id)] = true;
  }
  find_uses(exit);
  for (bool changed = true; changed;) {
    changed = false;
    for (const FlowBlock& block : flow.blocks)
      for (const FlowStep& each : block.steps) changed = spread(each.node) || changed;
  }
}

bool FlowActivity::is_float_tensor(ValueId id) const {
  const Type& type = flow_.type(id);
  return !type.is_number && is_float(type.dtype);
}

std::size_t FlowActivity::group(ValueId id) const {
  std::size_t found = at(roots_[at(id)]);
  while (groups_[found] != found) found = groups_[found];
  return found;
}

void FlowActivity::join(ValueId a, ValueId b) {
  const std::size_t first = group(a), second = group(b);
  groups_[second] = first;
}

void FlowActivity::find_roots() {
  for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
    for (const ValueId id : flow_.blocks[b].parameters) made_in_[at(id)] = b;
    for (const FlowStep& step : flow_.blocks[b].steps) {
      const Node& node = step.node;
      for (const ValueId id : node.outputs) {
        made_in_[at(id)] = b;
        if (node.is_constant() || !(node.is_view() || node.writes())) continue;
        shown_by_[at(id)] = &node;
      }
    }
  }
  // What a step shows may come in a later block of the list.
  for (std::size_t id = 0; id < roots_.size(); ++id) {
    ValueId root = static_cast<ValueId>(id);
    while (shown_by_[at(root)] != nullptr) root = shown_by_[at(root)]->viewed().value;
    roots_[id] = root;
  }
}

void FlowActivity::find_groups() {
  for (const FlowBlock& block : flow_.blocks) {
    each_target(block.end, [&](const FlowEnd::Target& target) {
      const FlowBlock& next = flow_.blocks[static_cast<std::size_t>(target.block)];
      for (std::size_t k = 0; k < target.arguments.size(); ++k) {
        const bool is_tensor = !flow_.type(next.parameters[k]).is_number;
        if (is_tensor && target.arguments[k].is_value()) join(next.parameters[k], target.arguments[k].value);
      }
    });
  }
}

void FlowActivity::use(const Operand& operand, std::size_t block) {
  if (!operand.is_value() || flow_.type(operand.value).is_number) return;
  const bool is_near =
      made_in_[at(operand.value)] == block && made_in_[at(roots_[at(operand.value)])] == block;
  if (!is_near) in_memory_[group(operand.value)] = true;
}

void FlowActivity::find_uses(ExitId exit) {
  constexpr std::size_t kElsewhere = SIZE_MAX;
  for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
    const FlowBlock& block = flow_.blocks[b];
    for (const ValueId id : block.parameters) in_memory_[group(id)] = true;
    for (const FlowStep& step : block.steps) {
      for (const Operand& each : step.node.operands) use(each, b);
      if (!step.node.writes()) continue;
      written_[group(step.node.operands[0].value)] = true;
      in_memory_[group(step.node.operands[0].value)] = true;
    }
    each_target(block.end, [&](const FlowEnd::Target& target) {
      for (const Operand& each : target.arguments) use(each, kElsewhere);
    });
  }
  for (const Operand& each : flow_.exits[static_cast<std::size_t>(exit)].values) use(each, kElsewhere);
}

// What is computed of something active is active, and so is memory that it is written to.
bool FlowActivity::spread(const Node& node) {
  if (node.is_constant() || node.op->has(kStopsGradient)) return false;
  const bool reads_active = std::any_of(node.operands.begin(), node.operands.end(),
                                        [this](const Operand& each) { return is_active(each); });
  if (!reads_active) return false;
  bool changed = false;
  for (const ValueId id : node.outputs) {
    if (!is_float_tensor(id) || active_[group(id)]) continue;
    active_[group(id)] = true;
    changed = true;
  }
  return changed;
}

}  // namespace kiln::jit
