// The rules that every elementwise row shares: its derivatives are diagonal, so the same expression serves
// both directions, and a batch is one more dimension in front.
#include "tensor/functions.h"
#include "tensor/ops/pointwise.h"

namespace kiln {
namespace {

Tensor to_type(const Tensor& x, const TensorType& type) {
  return ops::to(ops::sum_to(x, type.sizes), type.dtype);
}

}  // namespace

Tensors pointwise_vjp(const VjpArgs& args) {
  const Pointwise& row = *args.op.pointwise;
  const Params params = pointwise_params(args.op, args.attrs, args.output_types[0].dtype);
  Tensors result(args.inputs.size());
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (!args.needs[i] || row.derivatives[i] == nullptr) continue;
    result[i] =
        to_type(row.derivatives[i](args.grads[0], args.inputs, args.outputs[0], params), args.input_types[i]);
  }
  return result;
}

Tensors pointwise_jvp(const JvpArgs& args) {
  const Pointwise& row = *args.op.pointwise;
  const Tensor& y = args.outputs[0];
  const Params params = pointwise_params(args.op, args.attrs, y.dtype());
  Tensor sum;
  for (std::size_t i = 0; i < args.tangents.size(); ++i) {
    if (!args.tangents[i] || row.derivatives[i] == nullptr) continue;
    const Tensor part = row.derivatives[i](args.tangents[i], args.inputs, y, params);
    sum = sum ? sum + part : part;
  }
  if (!sum) return Tensors(1);
  if (sum.sizes() != y.sizes()) sum = ops::expand(sum, y.sizes());
  return {ops::to(sum, y.dtype())};
}

Tensors pointwise_batch(const BatchArgs& args) {
  const Pointwise& row = *args.op.pointwise;
  std::size_t rank = 0;
  bool has_dims = false;
  OperandType types[3];
  std::size_t count = 0;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    const Tensor& x = args.inputs[i];
    if (!x) continue;
    const std::size_t inner = x.sizes().size() - (args.batched[i] ? 1 : 0);
    rank = std::max(rank, inner);
    has_dims = has_dims || inner > 0;
    if (static_cast<int>(i) != row.mask) types[count++] = {x.dtype(), x.is_number(), inner > 0};
  }
  const DType promoted =
      row.rule == TypeRule::First ? args.inputs[0].dtype() : promote_operands({types, count}, false);
  Tensors inputs;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    Tensor x = args.inputs[i];
    // Without its batch it was 0-d, and raised the dtype of others with dimensions no more than they do those
    // of 0-d ones: with it, it would.
    const bool is_0d = x && !x.is_number() && x.rank() == (args.batched[i] ? 1 : 0);
    if (is_0d && static_cast<int>(i) != row.mask && (args.batched[i] || !has_dims)) x = ops::to(x, promoted);
    if (x && args.batched[i]) {
      while (static_cast<std::size_t>(x.rank()) < rank + 1) x = ops::unsqueeze(x, 1);
    }
    inputs.push_back(std::move(x));
  }
  return bind(args.op, inputs, args.attrs);
}

}  // namespace kiln
