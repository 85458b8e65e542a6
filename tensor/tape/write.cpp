// Recorded writes: an in-place op is the op itself, whose result the target then stands for.
#include "tensor/functions.h"
#include "tensor/levels/level.h"
#include "tensor/tape/meta.h"
#include "tensor/tape/op_node.h"
#include "tensor/tape/record.h"
#include "tensor/view.h"

namespace kiln::tape {
namespace {

// The memory of a transform's tensor has other owners.
bool fills_its_buffer(const Tensor& x) {
  return levels::wrapper_of(x) == nullptr && x.is_contiguous() && x.offset() == 0 &&
         static_cast<std::size_t>(x.numel().hint()) * size_of(x.dtype()) == x.storage()->bytes();
}

// The value with its history in memory of its own, for keeping: a write to a small part of a large tensor
// would otherwise copy all of it, because a part is kept.
Tensor compact(const Tensor& x) {
  const Edge edge = history(x);
  const GradMode off(false);
  Tensor copy = ops::clone(x);
  if (edge) start_history(copy, edge);
  return copy;
}

// Puts a fresh value into the memory of the target, without copying where the target has its memory to
// itself.
void store(const Tensor& target, const Tensor& value) {
  const GradMode off(false);
  if (value.dtype() == target.dtype() && fills_its_buffer(target) && fills_its_buffer(value) &&
      target.storage()->may_take_memory_of(*value.storage())) {
    target.storage()->replace(value.storage()->buffer());
  } else {
    ops::copy_(target, value);
  }
}

// Computes apart, then stores. For ops that need what they overwrite.
Tensor write_by_value(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& target = inputs[0];
  SmallVector<Tensor, 3> operands(inputs.begin(), inputs.end());
  if (!fills_its_buffer(target)) operands[0] = compact(target);
  const Tensor value = kiln::bind(op, operands, attrs)[0];
  const Edge edge = is_differentiable(target.dtype()) ? history(value) : Edge{};
  store(target, value);
  replace_history(target, edge);
  return target;
}

// Lets the kernel write the target.
Tensor write_directly(const Op& op, Inputs inputs, const Attrs& attrs, bool keeps_output) {
  const Tensor& target = inputs[0];
  auto* made = new OpNode(op, inputs, attrs);
  const Ref<Node> node(made);
  run_inplace_unrecorded(op, inputs, attrs);
  const Tensor kept = keeps_output && !fills_its_buffer(target) ? compact(target) : target;
  made->set_outputs({&kept, 1});
  replace_history(target, Edge{node, 0});
  return target;
}

// A hidden tensor that is what x was: its layout, its origin, its history. Views of x find it through x's new
// origin (base_of).
Tensor take_identity(const Tensor& x) {
  const Edge edge = history(x);
  Tensor before = levels::wrapper_of(x) != nullptr ? levels::wrap_again(x) : Tensor::alias(x, x.layout());
  before.impl()->origin = std::move(x.impl()->origin);
  if (AutogradMeta* meta = meta_of(x)) {
    AutogradMeta& copy = make_meta(before);
    copy.history = edge;
    copy.history_version = meta->history_version;
    copy.cuts = meta->cuts;
  }
  return before;
}

}  // namespace

bool sees_write(const Op& op, Inputs inputs) {
  if (!recording) return false;
  const ViewOrigin* origin = inputs[0].impl()->origin.get();
  if (!sees(inputs) && !(origin != nullptr && has_history(base_of(*origin)))) return false;
  check_write(inplace_name(op), inputs[0]);
  return true;
}

Tensor write(const Op& op, Inputs inputs, const Attrs& attrs, const TensorType& result) {
  const Tensor& target = inputs[0];
  const bool keeps_output = op.saves.outputs != 0;
  // Integers have no history, whatever is written into them.
  const bool apart = !is_differentiable(target.dtype()) || !op.vjp || result.dtype != target.dtype() ||
                     OpNode::keeps_input(op, inputs, 0);
  return apart ? write_by_value(op, inputs, attrs) : write_directly(op, inputs, attrs, keeps_output);
}

Tensor rearrange(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  if (op.has(kStorageWrite)) return take_storage(x, inputs[1]);
  check_write(inplace_name(op), x);
  TensorImpl& impl = *x.impl();
  if (AutogradMeta* meta = meta_of(x); meta != nullptr && meta->leaf) {
    const GradMode off(false);
    levels::become(x, kiln::bind(op, {&x, 1}, attrs)[0]);
    renew_leaf(x);
    return x;
  }
  const GradMode record(true);  // what the history says must keep step with the layout
  const bool was_view = impl.origin && !impl.origin->of_itself;
  const Tensor before = take_identity(x);
  const Tensor after = kiln::bind(op, {&before, 1}, attrs)[0];
  levels::become(x, after);
  impl.origin = std::move(after.impl()->origin);
  impl.origin->of_itself = !was_view;
  if (const Edge edge = history(after)) make_meta(x).history = edge;
  return x;
}

}  // namespace kiln::tape
