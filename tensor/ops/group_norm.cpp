// Owns group_norm and its derivative.
#include "tensor/onnx/rules.h"
#include "tensor/ops/channel_rows.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"

namespace kiln {
namespace {

using ops::per_channel;

// ---- Types -----------------------------------------------------------------------------------------------

void check_groups(const TensorType& x, const Attrs& attrs, int operand) {
  ops::need_float(x, attrs);
  const std::int64_t groups = attrs.get<std::int64_t>("num_groups");
  if (x.sizes.size() >= 2 && groups >= 1 && x.sizes[1] % groups == 0) return;
  throw OpError(ErrorKind::Shape,
                std::string(attrs.op()->name()) + ": the channels of " + to_string(x) +
                    " (dimension 1) do not divide into " + std::to_string(groups) + " groups",
                {operand}, "num_groups must divide the number of channels");
}

std::vector<TensorType> infer_group_norm(std::span<const TensorType> in, const Attrs& attrs) {
  check_groups(in[0], attrs, 0);
  ops::check_per_channel(in[1], in[0], attrs, 1, "weight");
  ops::check_per_channel(in[2], in[0], attrs, 2, "bias");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

std::vector<TensorType> infer_group_norm_backward(std::span<const TensorType> in, const Attrs& attrs) {
  check_groups(in[1], attrs, 1);
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(ErrorKind::Shape,
                  "group_norm_backward needs a gradient of the type of x: " + to_string(in[0]) + " and " +
                      to_string(in[1]),
                  {0, 1}, "give both the same shape and dtype");
  }
  ops::check_per_channel(in[2], in[1], attrs, 2, "weight");
  const TensorType column{ops::compute_dtype(in[1].dtype), in[1].device, Dims{in[1].sizes[1]}, false};
  return {{in[1].dtype, in[1].device, in[1].sizes, false}, column, column};
}

// ---- The same over smaller ops ---------------------------------------------------------------------------

struct Standard {
  Dims sizes, rows;  // of x; of its groups as rows
  Dim count;
  Tensor rstd, xhat;  // [rows, 1] and as rows

  Standard(const Tensor& input, const Attrs& attrs) : sizes(input.sizes()) {
    const Dim groups = sizes[0] * attrs.get<std::int64_t>("num_groups");
    const Dim size = groups == 0 ? 0 : input.numel() / groups;
    rows = Dims{groups, size};
    count = size;
    const Tensor x = ops::reshape(ops::to(input, ops::compute_dtype(input.dtype())), rows);
    const Tensor d = x - ops::steady_mean(x, Dims{1});
    rstd = ops::reciprocal(ops::sqrt(ops::sum(d * d, Dims{1}, true) / count + attrs.get<double>("eps")));
    xhat = d * rstd;
  }
};

Tensors decompose_forward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype();
  Tensor y = ops::reshape(Standard(in[0], attrs).xhat, in[0].sizes());
  if (in[1]) y = y * per_channel(ops::to(in[1], dtype), y);
  if (in[2]) y = y + per_channel(ops::to(in[2], dtype), y);
  return {ops::to(y, dtype)};
}

Tensors decompose_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[1].dtype();
  const Standard standard(in[1], attrs);
  const Tensor g = ops::to(in[0], standard.xhat.dtype());
  // Sums over each channel of each example, then over examples or the channels of a group.
  const Dims planes{g.size(0), g.size(1), g.numel() == 0 ? 0 : g.numel() / (g.size(0) * g.size(1))};
  const Tensor xhat = ops::reshape(standard.xhat, g.sizes());
  const Tensor products = ops::sum(ops::reshape(g * xhat, planes), Dims{2});
  const Tensor totals = ops::sum(ops::reshape(g, planes), Dims{2});
  const Tensor weight = in[2] ? ops::to(ops::to(in[2], dtype), g.dtype()) : Tensor();
  const Dim groups = attrs.get<Dim>("num_groups");
  const auto mean_of = [&](const Tensor& sums) {
    const Tensor scaled = weight ? sums * weight : sums;
    const Dims grouped{standard.rows[0], g.size(1) / groups};
    return ops::sum(ops::reshape(scaled, grouped), Dims{1}, true) / standard.count;
  };
  const Tensor h = ops::reshape(weight ? g * per_channel(weight, g) : g, standard.rows);
  const Tensor dx = (h - mean_of(totals) - standard.xhat * mean_of(products)) * standard.rstd;
  return {ops::to(ops::reshape(dx, g.sizes()), dtype), ops::sum(products, Dims{0}),
          ops::sum(totals, Dims{0})};
}

// ---- Rules -----------------------------------------------------------------------------------------------

Tensors group_norm_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("group_norm_backward");
  const Tensor inputs[] = {args.grads[0], args.inputs[0], args.inputs[1]};
  Tensors grads =
      ops::apply(row, inputs, {{"num_groups", args.attrs.at("num_groups")}, {"eps", args.attrs.at("eps")}});
  for (std::size_t i = 1; i < 3; ++i)
    grads[i] = args.needs[i] ? ops::to(grads[i], args.input_types[i].dtype) : Tensor();
  return grads;
}

}  // namespace

void add_group_norm_ops(OpTable& table) {
  Op forward = ops::composite_row(
      "group_norm(x: tensor, num_groups: int, weight: tensor? = none, bias: tensor? = none, eps: float = "
      "1e-5)",
      "Normalizes each group of channels (dimension 1) of each example by its own mean and variance.",
      ">>> group_norm(ones(1, 2, 2), 2).tolist()\n[[[0.0, 0.0], [0.0, 0.0]]]", infer_group_norm,
      decompose_forward);
  forward.vjp = group_norm_vjp;
  forward.onnx = onnx_rules::group_norm;
  forward.traits = kFullPrecision;
  forward.saves = saves_input(0) | saves_input(1);
  table.add(std::move(forward));
  Op backward = ops::composite_row(
      "group_norm_backward(grad: tensor, x: tensor, num_groups: int, weight: tensor? = none, eps: float = "
      "1e-5)",
      "The gradients of group_norm to x, weight and bias.",
      ">>> group_norm_backward(ones(1, 2), ones(1, 2), 1)[2].tolist()\n[1.0, 1.0]", infer_group_norm_backward,
      decompose_backward);
  backward.outputs = 3;
  table.add(std::move(backward));
}

}  // namespace kiln
