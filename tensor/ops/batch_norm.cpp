// Owns batch_norm, over a row that normalizes channels by their own statistics and its derivative's.
#include "tensor/interrupt.h"
#include "tensor/ops/channel_rows.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using ops::all_but_channels;
using ops::need_channels;
using ops::per_channel;

// ---- Shapes ----------------------------------------------------------------------------------------------

TensorType statistics_type(const TensorType& x) {
  return {ops::compute_dtype(x.dtype), x.device, Dims{x.sizes[1]}, false};
}

// ---- The same over smaller ops ---------------------------------------------------------------------------

struct Standard {
  Tensor x, mean, variance, rstd;  // in the dtype of computation
  Dims dims;
  Dim count;
  // The statistics may be known.
  Standard(const Tensor& input, double eps, const Tensor& means = {}, const Tensor& variances = {})
      : x(ops::to(input, ops::compute_dtype(input.dtype()))),
        dims(all_but_channels(input.rank())),
        count(ops::reduced_count(input.sizes(), dims)) {
    mean = means ? per_channel(means, x) : ops::steady_mean(x, dims);
    if (variances) {
      variance = per_channel(variances, x);
    } else {
      const Tensor d = x - mean;
      variance = ops::sum(d * d, dims, true) / count;
    }
    rstd = ops::reciprocal(ops::sqrt(variance + eps));
  }
  Tensor apart() const { return x - mean; }
  Tensor flat(const Tensor& v) const { return ops::reshape(v, Dims{x.size(1)}); }
};

Tensors decompose_normalize(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype();
  const Standard standard(in[0], attrs.get<double>("eps"));
  Tensor y = standard.apart() * standard.rstd;
  if (in[1]) y = y * per_channel(ops::to(in[1], dtype), y);
  if (in[2]) y = y + per_channel(ops::to(in[2], dtype), y);
  return {ops::to(y, dtype), standard.flat(standard.mean), standard.flat(standard.variance)};
}

Tensors decompose_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[1].dtype();
  const Standard standard(in[1], attrs.get<double>("eps"), in[5], in[6]);
  const Dim count = standard.count;
  const Tensor g = ops::to(in[0], standard.x.dtype());
  const Tensor xhat = standard.apart() * standard.rstd;
  const Tensor dweight = ops::sum(g * xhat, standard.dims), dbias = ops::sum(g, standard.dims);
  Tensor slope = standard.rstd;
  if (in[2]) slope = slope * per_channel(ops::to(in[2], dtype), g);
  const Tensor rest = g - per_channel(dbias, g) / count;
  Tensor dx = (rest - xhat * (per_channel(dweight, g) / count)) * slope;
  if (in[3]) dx = dx + per_channel(in[3], dx) / count;
  if (in[4]) dx = dx + standard.apart() * (per_channel(in[4], dx) * 2.0 / count);
  return {ops::to(dx, dtype), dweight, dbias};
}

// ---- Rules -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer_normalize(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[0], attrs, 0);
  ops::check_per_channel(in[1], in[0], attrs, 1, "weight");
  ops::check_per_channel(in[2], in[0], attrs, 2, "bias");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}, statistics_type(in[0]), statistics_type(in[0])};
}

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[1], attrs, 1);
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) +
                      " needs a gradient of the type of x: " + to_string(in[0]) + " and " + to_string(in[1]),
                  {0, 1}, "give both the same shape and dtype");
  }
  ops::check_per_channel(in[2], in[1], attrs, 2, "weight");
  ops::check_per_channel(in[3], in[1], attrs, 3, "gradient of the mean");
  ops::check_per_channel(in[4], in[1], attrs, 4, "gradient of the variance");
  ops::check_per_channel(in[5], in[1], attrs, 5, "mean");
  ops::check_per_channel(in[6], in[1], attrs, 6, "variance");
  if (in[5].is_number != in[6].is_number) {
    throw OpError(ErrorKind::Value, std::string(attrs.op()->name()) + " needs mean and variance together",
                  {5, 6}, "give both, or neither");
  }
  return {{in[1].dtype, in[1].device, in[1].sizes, false}, statistics_type(in[1]), statistics_type(in[1])};
}

Tensors normalize_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("batch_norm_backward");
  const Tensor inputs[] = {args.grads[0], args.inputs[0],  args.inputs[1], args.grads[1],
                           args.grads[2], args.outputs[1], args.outputs[2]};
  Tensors grads = ops::apply(row, inputs, {{"eps", args.attrs.at("eps")}});
  for (std::size_t i = 1; i < 3; ++i)
    grads[i] = args.needs[i] ? ops::to(grads[i], args.input_types[i].dtype) : Tensor();
  return grads;
}

// ---- batch_norm ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_batch_norm(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[0], attrs, 0);
  static constexpr const char* kNames[] = {"", "running_mean", "running_var", "weight", "bias"};
  for (int i = 1; i < 5; ++i)
    ops::check_per_channel(in[static_cast<std::size_t>(i)], in[0], attrs, i, kNames[i]);
  if (!attrs.get<bool>("training") && in[1].is_number != in[2].is_number) {
    throw OpError(ErrorKind::Value,
                  "batch_norm: outside of training it goes by running_mean and running_var together", {1, 2},
                  "give both, or training=true to go by the batch");
  }
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

void update_running(const Tensor& running, const Tensor& now, double momentum) {
  if (!running) return;
  static const Op& mul = OpTable::get().at("mul");
  static const Op& add = OpTable::get().at("add");
  const Tensor kept[] = {running, Tensor::number(1.0 - momentum)};
  bind_inplace(mul, kept, Attrs(mul));
  const Tensor fresh[] = {running, ops::to(ops::detach(now), running.dtype()) * momentum};
  bind_inplace(add, fresh, Attrs(add));
}

Dim count_per_channel(const Tensor& x) { return ops::reduced_count(x.sizes(), all_but_channels(x.rank())); }

std::vector<TensorType> infer_sample_variance(std::span<const TensorType> in, const Attrs& attrs) {
  need_channels(in[1], attrs, 1);
  if (in[0].is_number)
    throw OpError(ErrorKind::Type, "sample_variance: the variance must be a tensor, it is a number", {0});
  ops::check_per_channel(in[0], in[1], attrs, 0, "variance");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

// An op of its own, so that the factor follows the size of the batch in graphs that hold for any.
Tensors sample_variance(const Op&, Inputs in, const Attrs&) {
  const auto count = static_cast<double>(count_per_channel(in[1]));
  return {in[0] * (count / (count - 1.0))};
}

Tensor by_batch(Inputs in, const Attrs& attrs) {
  const bool training = attrs.get<bool>("training");
  if (training && count_per_channel(in[0]) < 2) {
    throw OpError(ErrorKind::Value,
                  "batch_norm: one value per channel has no variance to train with, and x is " +
                      to_string(in[0].type()),
                  {0}, "use a larger batch, or training=false");
  }
  static const Op& row = OpTable::get().at("batch_norm_with_statistics");
  const Tensor inputs[] = {in[0], in[3], in[4]};
  const Tensors results = ops::apply(row, inputs, {{"eps", attrs.at("eps")}});
  if (training) {
    const double momentum = attrs.get<double>("momentum");
    static const Op& sample = OpTable::get().at("sample_variance");
    const Tensor variance = rules::apply_one(sample, {ops::detach(results[2]), ops::detach(in[0])});
    const HeldInterrupts whole;  // the statistics are those of one batch, or of the other
    update_running(in[1], results[1], momentum);
    update_running(in[2], variance, momentum);
  }
  return results[0];
}

Tensor affine_of(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  static const Op& row = OpTable::get().at("channel_affine");
  return rules::apply_one(row, {x, scale, shift});
}

Tensor by_running(Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype(), wide = ops::compute_dtype(dtype);
  Tensor scale = ops::rsqrt(ops::to(in[2], wide) + attrs.get<double>("eps"));
  if (in[3]) scale = scale * ops::to(in[3], wide);
  Tensor shift = -(ops::to(in[1], wide) * scale);
  if (in[4]) shift = shift + ops::to(in[4], wide);
  return ops::to(affine_of(ops::to(in[0], wide), scale, shift), dtype);
}

Tensors batch_norm(const Op&, Inputs in, const Attrs& attrs) {
  if (attrs.get<bool>("training") || !in[1] || !in[2]) return {by_batch(in, attrs)};
  return {by_running(in, attrs)};
}

// ---- Rows ------------------------------------------------------------------------------------------------

Op kernel_row(std::string_view signature, std::string_view documentation, std::string_view example,
              InferFn infer, BodyFn body) {
  Op row = ops::composite_row(signature, documentation, example, infer, body);
  row.outputs = 3;
  return row;
}

}  // namespace

void add_batch_norm_ops(OpTable& table) {
  Op forward = kernel_row(
      "batch_norm_with_statistics(x: tensor, weight: tensor? = none, bias: tensor? = none, eps: float = "
      "1e-5)",
      "`batch_norm` by the statistics of x itself, together with each channel's mean and variance (divided "
      "by "
      "the count).",
      ">>> batch_norm_with_statistics(tensor([[1.0], [3.0]]))[1].tolist()\n[2.0]", infer_normalize,
      decompose_normalize);
  forward.vjp = normalize_vjp;
  forward.saves = saves_input(0) | saves_input(1) | saves_output(1) | saves_output(2);
  table.add(std::move(forward));
  table.add(kernel_row(
      "batch_norm_backward(grad: tensor, x: tensor, weight: tensor? = none, grad_mean: tensor? = none, "
      "grad_variance: tensor? = none, mean: tensor? = none, variance: tensor? = none, eps: float = 1e-5)",
      "The gradients of batch_norm_with_statistics to x, weight and bias from those to its results. `mean` "
      "and "
      "`variance`, two of its results, are computed again when they are not given.",
      ">>> batch_norm_backward(ones(2, 2), ones(2, 2))[2].tolist()\n[2.0, 2.0]", infer_backward,
      decompose_backward));
  table.add(ops::composite_row(
      "sample_variance(variance: tensor, x: tensor)",
      "What the variance of each channel of x, divided by the count, is when divided by the count less one: "
      "an "
      "estimate without bias of what x is a sample of.",
      ">>> sample_variance(tensor([1.0]), tensor([[1.0], [3.0]])).tolist()\n[2.0]", infer_sample_variance,
      sample_variance));
  Op row = ops::composite_row(
      "batch_norm(x: tensor, running_mean: tensor? = none, running_var: tensor? = none, weight: tensor? = "
      "none, bias: tensor? = none, training: bool = false, momentum: float = 0.1, eps: float = 1e-5)",
      "Normalizes each channel (dimension 1) by its mean and variance: of this batch when `training`, which "
      "also moves the running ones towards them by `momentum`; else the running ones.",
      ">>> batch_norm(tensor([[1.0], [1.0]]), training=true).tolist()\n[[0.0], [0.0]]", infer_batch_norm,
      batch_norm);
  row.writes_inputs = [](const Attrs& attrs) { return attrs.get<bool>("training"); };
  table.add(std::move(row));
}

}  // namespace kiln
