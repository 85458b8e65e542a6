// Gradients of views, on the way back through a block.
#include <algorithm>

#include "jit/flow/flow_block_back.h"

namespace kiln::jit {

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
