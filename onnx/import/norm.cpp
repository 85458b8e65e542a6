// Normalizations.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

constexpr double kEpsilon = static_cast<double>(1e-5F);

// One number for each channel, in the second dimension.
Tensor by_channel(const Tensor& numbers, int rank) {
  Dims sizes(static_cast<std::size_t>(rank), 1);
  if (rank > 1) sizes[1] = numbers.numel();
  return rank > 1 ? ops::reshape(numbers, sizes) : numbers;
}

Values batch_norm(Call& call) {
  const Tensor x = call.x(0);
  const double eps = call.real("epsilon", kEpsilon);
  const Tensor scale = call.x(1), bias = call.x(2), mean = call.x(3), variance = call.x(4);
  if (call.integer("training_mode", 0) == 0) {
    const Tensor factor = scale * ops::rsqrt(variance + eps);
    return {
        ops::to(x * by_channel(factor, x.rank()) + by_channel(bias - mean * factor, x.rank()), x.dtype())};
  }
  Dims dims{0};
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  const Tensor now_mean = ops::mean(x, dims, false);
  const Tensor apart = x - by_channel(now_mean, x.rank());
  const Tensor now_variance = ops::mean(apart * apart, dims, false);
  const Tensor normal = apart * by_channel(ops::rsqrt(now_variance + eps), x.rank());
  const double momentum = call.real("momentum", static_cast<double>(0.9F));
  return {normal * by_channel(scale, x.rank()) + by_channel(bias, x.rank()),
          mean * momentum + now_mean * (1 - momentum), variance * momentum + now_variance * (1 - momentum)};
}

// Over the dimensions from one on; f16 and bf16 are computed in f32, as stash_type says.
struct Normal {
  Tensor normal, mean, inverse;
};
Normal normalized(const Tensor& x, const Dims& dims, double eps, bool centers) {
  Normal made;
  const Tensor wide = size_of(x.dtype()) < 4 ? ops::to(x, DType::F32) : x;
  made.mean = centers ? ops::mean(wide, dims, true) : Tensor();
  const Tensor apart = centers ? wide - made.mean : wide;
  made.inverse = ops::rsqrt(ops::mean(apart * apart, dims, true) + eps);
  made.normal = ops::to(apart * made.inverse, x.dtype());
  return made;
}

Dims from_axis(int axis, int rank) {
  Dims dims;
  for (int d = axis; d < rank; ++d) dims.push_back(d);
  return dims;
}

Tensor affine(Tensor x, const Tensor& scale, const Tensor& bias) {
  if (scale) x = ops::mul(x, scale);
  return bias ? ops::add(x, bias) : x;
}

Values layer_norm(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const double eps = call.real("epsilon", kEpsilon);
  const bool asks_moments = call.node().outputs.size() > 1;
  const Dims shape(x.sizes().begin() + axis, x.sizes().end());
  const Tensor scale = call.x(1), bias = call.maybe(2);
  const auto fits = [&](const Tensor& t) { return !t || same(t.sizes(), shape); };
  if (!asks_moments && fits(scale) && fits(bias) && is_float(x.dtype()))
    return {apply("layer_norm", {x, scale, bias}, {{"normalized_shape", shape}, {"eps", eps}})};
  const Normal made = normalized(x, from_axis(axis, x.rank()), eps, true);
  return {affine(made.normal, scale, bias), made.mean, made.inverse};
}

Values rms_norm(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const Normal made = normalized(x, from_axis(axis, x.rank()), call.real("epsilon", kEpsilon), false);
  return {affine(made.normal, call.x(1), {}), Tensor(), made.inverse};
}

// x + skip (+ bias), then a layer norm of the sum, which is the fourth result.
Values skip_layer_norm(Call& call) {
  Tensor x = ops::add(call.x(0), call.x(1));
  if (call.has(4)) x = ops::add(x, call.x(4));
  const double eps = call.real("epsilon", static_cast<double>(1e-12F));
  const Normal made = normalized(x, Dims{x.rank() - 1}, eps, true);
  return {affine(made.normal, call.x(2), call.maybe(3)), Tensor(), Tensor(), x};
}

Values instance_norm(Call& call) {
  const Tensor x = call.x(0);
  const Normal made = normalized(x, from_axis(2, x.rank()), call.real("epsilon", kEpsilon), true);
  return {affine(made.normal, by_channel(call.x(1), x.rank()), by_channel(call.x(2), x.rank()))};
}

// Scale and bias are for each channel, and were for each group before version 21.
Values group_norm(Call& call) {
  const Tensor x = call.x(0);
  const Dim groups = call.integer("num_groups", 1);
  if (groups < 1) call.refuse("has no groups");
  const Tensor parts = ops::reshape(x, Dims{x.size(0), groups, -1});
  const Normal made = normalized(parts, Dims{2}, call.real("epsilon", kEpsilon), true);
  const Tensor scale = call.x(1), bias = call.x(2);
  if (call.opset() >= 21)
    return {affine(ops::reshape(made.normal, x.sizes()), by_channel(scale, x.rank()),
                   by_channel(bias, x.rank()))};
  return {ops::reshape(affine(made.normal, by_channel(scale, 3), by_channel(bias, 3)), x.sizes())};
}

Values norm_over_axis(Call& call) {
  const Tensor x = call.x(0);
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const bool is_first = call.integer("p", 2) == 1;
  const Tensor length =
      is_first ? ops::sum(ops::abs(x), Dims{axis}, true) : ops::sqrt(ops::sum(x * x, Dims{axis}, true));
  const Tensor zero = scalar(0, x.dtype());
  return {ops::where(ops::eq(length, zero), zero, x / length)};
}

Values mean_variance_norm(Call& call) {
  const Tensor x = call.x(0);
  const Dims axes = to_dims(call.axes(call.dims("axes").value_or(Dims{0, 2, 3}), x.rank()));
  const Tensor apart = x - ops::mean(x, axes, true);
  return {apart / (ops::sqrt(ops::mean(apart * apart, axes, true)) + 1e-9)};
}

// Each element over the squares of its neighbours among the channels.
Values local_response_norm(Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t size = call.integer("size", 1);
  if (size < 1) call.refuse("has a size below 1");
  Dims pads(static_cast<std::size_t>(2 * (x.rank() - 1)), 0);
  pads[pads.size() - 2] = (size - 1) / 2;
  pads[pads.size() - 1] = size / 2;
  const Tensor around = apply("constant_pad", {x * x}, {{"pad", pads}});
  const Tensor sums = ops::sum(ops::unfold(around, 1, size, 1), Dims{x.rank()});
  const double alpha = call.real("alpha", static_cast<double>(1e-4F)), beta = call.real("beta", 0.75);
  return {x /
          ops::pow(sums * (alpha / static_cast<double>(size)) + call.real("bias", 1), Tensor::number(beta))};
}

constexpr Operator kNormOperators[] = {
    {"BatchNormalization", batch_norm},
    {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm},
    {"LRN", local_response_norm},
    {"LayerNormalization", layer_norm},
    {"LpNormalization", norm_over_axis},
    {"MeanVarianceNormalization", mean_variance_norm},
    {"RMSNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm},
    {"SkipLayerNormalization", skip_layer_norm, "com.microsoft"},
};

}  // namespace

std::span<const Operator> norm_operators() { return kNormOperators; }

}  // namespace kiln::onnx
