// Activations of networks.
#include "onnx/import/call.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Tensor like(const Tensor& x, double value) { return scalar(value, x.dtype()); }

Values relu(Call& call) { return {ops::relu(call.x(0))}; }
Values sigmoid(Call& call) { return {ops::sigmoid(call.x(0))}; }

Values leaky_relu(Call& call) {
  return {
      apply("leaky_relu", {call.x(0)}, {{"negative_slope", call.real("alpha", static_cast<double>(0.01F))}})};
}

Values elu(Call& call) { return {apply("elu", {call.x(0)}, {{"alpha", call.real("alpha", 1)}})}; }

Values celu(Call& call) {
  const Tensor x = call.x(0);
  const double alpha = call.real("alpha", 1);
  return {ops::where(ops::gt(x, like(x, 0)), x, ops::expm1(x / alpha) * alpha)};
}

Values selu(Call& call) {
  const Tensor x = call.x(0);
  const double alpha = call.real("alpha", static_cast<double>(1.67326319217681884765625F));
  const double gamma = call.real("gamma", static_cast<double>(1.05070102214813232421875F));
  return {ops::where(ops::gt(x, like(x, 0)), x, ops::expm1(x) * alpha) * gamma};
}

Values gelu(Call& call) {
  return {apply("gelu", {call.x(0)}, {{"approximate", call.word("approximate", "none")}})};
}

Values fast_gelu(Call& call) {
  Tensor x = call.x(0);
  if (call.has(1)) x = x + call.x(1);
  return {apply("gelu", {x}, {{"approximate", std::string("tanh")}})};
}

Values bias_gelu(Call& call) { return {apply("gelu", {call.x(0) + call.x(1)})}; }

Values softplus(Call& call) {
  const Tensor x = call.x(0);
  // The larger of x and 0, and what is above it: as exact for large x as for small.
  return {ops::relu(x) + ops::log1p(ops::exp(-ops::abs(x)))};
}

Values softsign(Call& call) {
  const Tensor x = call.x(0);
  return {x / (ops::abs(x) + 1.0)};
}

Values hard_sigmoid(Call& call) {
  const Tensor x = call.x(0);
  const double alpha = call.real("alpha", static_cast<double>(0.2F));
  return {ops::clamp(x * alpha + call.real("beta", 0.5), 0, 1)};
}

Values hard_swish(Call& call) {
  const Tensor x = call.x(0);
  return {x * ops::clamp(x / 6.0 + 0.5, 0, 1)};
}

Values swish(Call& call) {
  const Tensor x = call.x(0);
  return {x * ops::sigmoid(x * call.real("alpha", 1))};
}

Values swiglu_parts(const Tensor& gate, const Tensor& up, double alpha) {
  return {gate * ops::sigmoid(gate * alpha) * up};
}

Values quick_gelu(Call& call) {
  const Tensor x = call.x(0);
  return {x * ops::sigmoid(x * call.real("alpha", static_cast<double>(1.702F)))};
}

Values mish(Call& call) {
  const Tensor x = call.x(0);
  return {x * ops::tanh(softplus(call)[0].tensor)};
}

Values thresholded_relu(Call& call) {
  const Tensor x = call.x(0);
  return {ops::where(ops::gt(x, like(x, call.real("alpha", 1))), x, like(x, 0))};
}

Values parametric_relu(Call& call) {
  const Tensor x = call.x(0);
  return {ops::where(ops::lt(x, like(x, 0)), x * call.x(1), x)};
}

Values shrink(Call& call) {
  const Tensor x = call.x(0);
  const double lambda = call.real("lambd", 0.5);
  const double bias = call.real("bias", 0);
  const Tensor zero = like(x, 0);
  const Tensor above = ops::to(x - bias, x.dtype());
  const Tensor below = ops::to(x + bias, x.dtype());
  const Tensor edge = scalar(lambda, is_float(x.dtype()) ? x.dtype() : DType::F32);
  return {ops::where(ops::gt(x, edge), above, ops::where(ops::lt(x, -edge), below, zero))};
}

// Before version 13 all dimensions from `axis` on are one.
template <Tensor (*F)(const Tensor&, int)>
Values over_axis(Call& call) {
  const Tensor x = call.x(0);
  if (call.opset() >= 13) return {F(x, call.axis(call.integer("axis", -1), x.rank()))};
  const int axis = call.axis(call.integer("axis", 1), x.rank());
  const std::span<const Dim> sizes = x.sizes();
  const Dims flat{product(sizes.first(static_cast<std::size_t>(axis))),
                  product(sizes.subspan(static_cast<std::size_t>(axis)))};
  return {ops::reshape(F(ops::reshape(x, flat), 1), x.sizes())};
}

Tensor hardmax_of(const Tensor& x, int axis) {
  const Tensor place = apply("argmax", {x}, {{"dim", Dim(axis)}});
  const Tensor chosen = ops::to(ops::one_hot(place, x.size(axis)), x.dtype());
  return apply("movedim", {chosen}, {{"source", Dims{x.rank() - 1}}, {"destination", Dims{axis}}});
}

Values swiglu(Call& call) {
  const Tensor x = call.x(0);
  if (call.has(1)) return swiglu_parts(x, call.x(1), call.real("alpha", 1));
  const int axis = call.axis(call.integer("axis", -1), x.rank());
  const Tensors halves = ops::split(x, Dims{floor_div(x.size(axis), 2)}, axis);
  return swiglu_parts(halves[0], halves[1], call.real("alpha", 1));
}

constexpr Operator kActivationOperators[] = {
    {"BiasGelu", bias_gelu, "com.microsoft"},
    {"Celu", celu},
    {"Elu", elu},
    {"FastGelu", fast_gelu, "com.microsoft"},
    {"Gelu", gelu},
    {"Gelu", gelu, "com.microsoft"},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Hardmax", over_axis<hardmax_of>},
    {"LeakyRelu", leaky_relu},
    {"LogSoftmax", over_axis<ops::log_softmax>},
    {"Mish", mish},
    {"PRelu", parametric_relu},
    {"QuickGelu", quick_gelu, "com.microsoft"},
    {"Relu", relu},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", sigmoid},
    {"Softmax", over_axis<ops::softmax>},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const Operator> activation_operators() { return kActivationOperators; }

}  // namespace kiln::onnx
