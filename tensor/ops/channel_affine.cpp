// Owns channel_affine, one factor and one term for all elements of a channel, and its derivative's kernel:
// one pass over memory each, where the smaller ops they are made of take several.
#include "tensor/ops/channel_rows.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"

namespace kiln {
namespace {

// ---- Types -----------------------------------------------------------------------------------------------

void check_channels(const TensorType& v, const TensorType& x, const Attrs& attrs, int operand) {
  if (v.sizes == Dims{x.sizes[1]} && v.dtype == x.dtype) return;
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": " + to_string(v) + " is not one " +
                    std::string(name(x.dtype)) + " for each channel of " + to_string(x),
                {operand, 0}, "give numbers of shape " + to_string(Dims{x.sizes[1]}));
}

std::vector<TensorType> infer_affine(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_channels(in[0], attrs, 0);
  check_channels(in[1], in[0], attrs, 1);
  check_channels(in[2], in[0], attrs, 2);
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_channels(in[1], attrs, 1);
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(ErrorKind::Shape,
                  "channel_affine_backward needs a gradient of the type of x: " + to_string(in[0]) + " and " +
                      to_string(in[1]),
                  {0, 1}, "give both the same shape and dtype");
  }
  check_channels(in[2], in[1], attrs, 2);
  const TensorType column{in[1].dtype, in[1].device, Dims{in[1].sizes[1]}, false};
  return {{in[1].dtype, in[1].device, in[1].sizes, false}, column, column};
}

// ---- Over smaller ops ------------------------------------------------------------------------------------

Tensors decompose_affine(const Op&, Inputs in, const Attrs&) {
  return {in[0] * ops::per_channel(in[1], in[0]) + ops::per_channel(in[2], in[0])};
}

Tensors decompose_backward(const Op&, Inputs in, const Attrs&) {
  const Dims dims = ops::all_but_channels(in[0].rank());
  return {in[0] * ops::per_channel(in[2], in[0]), ops::sum(in[0] * in[1], dims), ops::sum(in[0], dims)};
}

Tensors affine_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("channel_affine_backward");
  const Tensor inputs[] = {args.grads[0], args.inputs[0], args.inputs[1]};
  return kiln::bind(row, inputs, Attrs(row));
}

}  // namespace

void add_channel_affine_ops(OpTable& table) {
  Op forward =
      ops::composite_row("channel_affine(x: tensor, scale: tensor, shift: tensor)",
                         "x * scale + shift with one scale and one shift for each channel (dimension 1).",
                         ">>> channel_affine(ones(1, 2, 2), tensor([1.0, 2.0]), tensor([0.0, "
                         "5.0])).tolist()\n[[[1.0, 1.0], [7.0, "
                         "7.0]]]",
                         infer_affine, decompose_affine);
  forward.vjp = affine_vjp;
  forward.saves = saves_input(0) | saves_input(1);
  table.add(std::move(forward));
  Op backward =
      ops::composite_row("channel_affine_backward(grad: tensor, x: tensor, scale: tensor)",
                         "The gradients of channel_affine to x, scale and shift.",
                         ">>> channel_affine_backward(ones(2, 1), ones(2, 1), ones(1))[2].tolist()\n[2.0]",
                         infer_backward, decompose_backward);
  backward.outputs = 3;
  table.add(std::move(backward));
}

}  // namespace kiln
