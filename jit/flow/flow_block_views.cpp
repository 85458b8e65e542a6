// Gradients of views, on the way back through a block.
#include <algorithm>

#include "jit/flow/flow_block_back.h"
#include "tensor/core_ops.h"

namespace kiln::jit {

// What arrived at the view is added to the gradient of what it shows, where it was made.
void BlockBack::deliver(const Node& view) {
  std::vector<std::optional<Operand>> arrived;
  for (const ValueId id : view.outputs) {
    if (!way_.activity.is_in_memory(id)) {
      arrived.push_back(take_local(id));
      continue;
    }
    const ValueId memory = gradients_.memory(id);
    arrived.emplace_back(Operand::of(writer_.apply(core_ops().clone, {Operand::of(memory)}, view)));
    empty_memory(id, memory, view);
  }
  if (std::none_of(arrived.begin(), arrived.end(), [](const auto& each) { return each.has_value(); })) return;
  const std::optional<ValueId> shown = memory_shown_by(view.outputs[0]);
  if (!shown) {
    const std::optional<ValueId> absent = take_absence(view);
    return apply_rule(view, arrived, absent);
  }
  for (std::size_t k = view.outputs.size(); k-- > 0;) {
    const ValueId id = view.outputs[k];
    if (arrived[k]) deliver_to(*shown, id, *arrived[k], gradients_.take_absence(id));
  }
}

void BlockBack::deliver_to(ValueId shown, ValueId view, const Operand& gradient,
                           const std::optional<ValueId>& absent) {
  add_in_memory(view_of_memory(shown, view), gradient, *way_.activity.view(view));
  gradients_.arrive(shown, absent);
}

// Views on the way that only the next one reads have the same gradient at the same time.
std::optional<ValueId> BlockBack::memory_shown_by(ValueId view) const {
  const FlowActivity& activity = way_.activity;
  const auto shown_by = [&](ValueId id) { return activity.tensor(activity.view(id)->operands[0].value); };
  ValueId shown = shown_by(view);
  while (!activity.is_in_memory(shown) && activity.view(shown) != nullptr && activity.is_read_once(shown))
    shown = shown_by(shown);
  if (!activity.is_in_memory(shown)) return std::nullopt;
  return shown;
}

ValueId BlockBack::view_of_memory(ValueId shown, ValueId view) {
  return applied(shown, *way_.activity.view(view), gradients_.memory(shown), tensor(view));
}

// The view `made` by a step, of another tensor in place of `shown`.
ValueId BlockBack::applied(ValueId shown, const Node& view, ValueId of, ValueId made) {
  const ValueId parent = tensor(view.operands[0].value);
  if (parent != shown) of = applied(shown, *way_.activity.view(parent), of, parent);
  FlowStep step;
  step.node.op = view.op;
  step.node.attrs = here(view.attrs);
  step.node.operands = {Operand::of(of)};
  step.node.place = view.place;
  step.exit = other_sizes_;
  const auto output = std::find(view.outputs.begin(), view.outputs.end(), made) - view.outputs.begin();
  return writer_.add(std::move(step))[static_cast<std::size_t>(output)];
}

}  // namespace kiln::jit
