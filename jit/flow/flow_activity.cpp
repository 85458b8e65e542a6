#include "jit/flow/flow_activity.h"

#include <algorithm>
#include <numeric>

namespace kiln::jit {
namespace {

constexpr std::size_t kElsewhere = SIZE_MAX;

}  // namespace

std::vector<bool> ends_of(const FlowGraph& flow) {
  std::vector<bool> found(flow.exits.size(), false);
  for (const FlowBlock& each : flow.blocks) {
    if (each.end.kind != FlowEnd::Kind::Leave) continue;
    const auto exit = static_cast<std::size_t>(each.end.exit);
    found[exit] = flow.exits[exit].ends_loop;
  }
  const auto forget = [&found](ExitId exit) {
    if (exit != kCannotFail) found[static_cast<std::size_t>(exit)] = false;
  };
  for (const FlowBlock& block : flow.blocks) {
    forget(block.interrupted);
    for (const FlowStep& each : block.steps) forget(each.exit);
  }
  return found;
}

FlowActivity::FlowActivity(const FlowGraph& flow, const std::vector<bool>& wanted)
    : flow_(flow),
      tensors_(flow.values.size()),
      views_(flow.values.size(), nullptr),
      made_in_(flow.values.size(), 0),
      groups_(flow.values.size()),
      depends_(flow.values.size(), std::vector<bool>(wanted.size(), false)),
      uses_(flow.values.size(), 0),
      written_(flow.values.size(), false),
      in_memory_(flow.values.size(), false),
      is_detached_(flow.values.size(), false) {
  std::iota(tensors_.begin(), tensors_.end(), 0);
  std::iota(groups_.begin(), groups_.end(), 0);
  find_tensors();
  find_groups();
  find_uses();
  find_active(wanted);
}

bool FlowActivity::is_float_tensor(ValueId id) const {
  const Type& type = flow_.type(id);
  return !type.is_number && is_differentiable(type.dtype);
}

bool FlowActivity::is_active(ValueId id) const {
  const std::vector<bool>& inputs = depends(id);
  return is_float_tensor(id) && !is_detached_[at(tensor(id))] &&
         std::find(inputs.begin(), inputs.end(), true) != inputs.end();
}

bool FlowActivity::is_recorded(const Node& node) const {
  if (node.is_constant() || number_op_of(*node.op) || node.op->has(kStopsGradient)) return false;
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [this](const Operand& each) { return is_active(each); });
}

std::size_t FlowActivity::group(ValueId id) const {
  std::size_t found = at(root(id));
  while (groups_[found] != found) found = groups_[found];
  return found;
}

void FlowActivity::find_tensors() {
  std::vector<const Node*> writes(flow_.values.size(), nullptr);
  for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
    for (const ValueId id : flow_.blocks[b].parameters) made_in_[at(id)] = b;
    for (const FlowStep& step : flow_.blocks[b].steps) {
      const Node& node = step.node;
      for (const ValueId id : node.outputs) {
        made_in_[at(id)] = b;
        if (node.is_constant()) continue;
        if (node.writes()) writes[at(id)] = &node;
        if (node.is_view() && !flow_.type(node.operands[0].value).is_number) views_[at(id)] = &node;
      }
    }
  }
  // What a step shows may come in a later block of the list.
  for (ValueId& id : tensors_)
    while (writes[at(id)] != nullptr) id = writes[at(id)]->operands[0].value;
  for (const ValueId id : tensors_) roots_.push_back(root_of(id));
}

// Notes whether a view on the way stops gradients.
ValueId FlowActivity::root_of(ValueId id) {
  ValueId root = id;
  while (const Node* const made = views_[at(root)]) {
    if (made->op->has(kStopsGradient)) is_detached_[at(id)] = true;
    root = tensor(made->operands[0].value);
  }
  return root;
}

void FlowActivity::find_groups() {
  for (const FlowBlock& block : flow_.blocks) {
    each_target(block.end, [&](const FlowEnd::Target& target) {
      const FlowBlock& next = flow_.blocks[at(target.block)];
      for (std::size_t k = 0; k < target.arguments.size(); ++k) {
        if (flow_.type(next.parameters[k]).is_number || !target.arguments[k].is_value()) continue;
        const std::size_t first = group(next.parameters[k]), second = group(target.arguments[k].value);
        groups_[second] = first;
      }
    });
  }
}

void FlowActivity::use(const Operand& operand, std::size_t block) {
  if (!operand.is_value() || flow_.type(operand.value).is_number) return;
  ++uses_[at(tensor(operand.value))];
  if (made_in(operand.value) != block) in_memory_[at(tensor(operand.value))] = true;
}

void FlowActivity::find_uses() {
  for (std::size_t i = 0; i < flow_.inputs.size(); ++i) in_memory_[i] = true;
  for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
    const FlowBlock& block = flow_.blocks[b];
    for (const ValueId id : block.parameters) in_memory_[at(id)] = true;
    for (const FlowStep& step : block.steps) {
      for (const Operand& each : step.node.operands) use(each, b);
      if (!step.node.writes()) continue;
      const ValueId target = step.node.operands[0].value;
      written_[group(target)] = true;
      in_memory_[at(root(target))] = true;
    }
    each_target(block.end, [&](const FlowEnd::Target& target) {
      for (const Operand& each : target.arguments) use(each, kElsewhere);
    });
  }
  const std::vector<bool> leaving = ends_of(flow_);
  for (std::size_t e = 0; e < leaving.size(); ++e) {
    if (!leaving[e]) continue;
    for (const Operand& each : flow_.exits[e].values) use(each, kElsewhere);
  }
}

// What is computed of something active is active, and so is memory that it is written to.
void FlowActivity::find_active(const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) depends_[i][i] = wanted[i];
  for (bool changed = true; changed;) {
    changed = false;
    for (const FlowBlock& block : flow_.blocks) {
      for (const FlowStep& each : block.steps) changed = spread(each.node) || changed;
      each_target(block.end, [&](const FlowEnd::Target& target) {
        const FlowBlock& next = flow_.blocks[at(target.block)];
        for (std::size_t k = 0; k < target.arguments.size(); ++k) {
          if (target.arguments[k].is_value())
            changed = add(next.parameters[k], target.arguments[k].value) || changed;
        }
      });
    }
  }
}

bool FlowActivity::add(ValueId to, ValueId from) {
  if (!is_float_tensor(to) || !is_active(from)) return false;
  std::vector<bool>& inputs = depends_[at(root(to))];
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] || !depends(from)[i]) continue;
    inputs[i] = true;
    changed = true;
  }
  return changed;
}

bool FlowActivity::spread(const Node& node) {
  if (node.is_constant() || number_op_of(*node.op) || node.op->has(kStopsGradient)) return false;
  bool changed = false;
  for (const ValueId id : node.outputs) {
    for (const Operand& each : node.operands) {
      if (each.is_value()) changed = add(id, each.value) || changed;
    }
  }
  return changed;
}

}  // namespace kiln::jit
