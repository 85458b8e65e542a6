#include "tensor/tape/record.h"

#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/op_node.h"

namespace kiln::tape {

thread_local constinit bool recording = true;

bool any_history(Inputs inputs) {
  for (const Tensor& input : inputs) {
    if (input && has_history(input)) return true;
  }
  return false;
}

Tensors run_unrecorded(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (levels::top != nullptr) return levels::top->compute(op, inputs, attrs);
  const GradMode off(false);
  return run_eager(op, inputs, attrs);
}

void run_inplace_unrecorded(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (levels::top != nullptr) return levels::top->compute_inplace(op, inputs, attrs);
  const GradMode off(false);
  run_eager_inplace(op, inputs, attrs);
}

Tensors bind(const Op& op, Inputs inputs, const Attrs& attrs) {
  if (op.vjp.missing == kComposite) return run_body(op, inputs, attrs);
  const Tensors outputs = run_unrecorded(op, inputs, attrs);
  record(op, inputs, attrs, outputs);
  return outputs;
}

void record(const Op& op, Inputs inputs, const Attrs& attrs, Inputs outputs) {
  if (op.has(kStopsGradient)) return;
  bool any_float = false;
  for (const Tensor& output : outputs) any_float |= is_differentiable(output.dtype());
  if (!any_float) return;
  auto* made = new OpNode(op, inputs, attrs);
  auto node = Ref<Node>::made(made);
  made->set_outputs(outputs);
  if (outputs.size() == 1) return start_history(outputs[0], Edge{std::move(node), 0});
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (is_differentiable(outputs[i].dtype())) start_history(outputs[i], Edge{node, i});
  }
}

}  // namespace kiln::tape
