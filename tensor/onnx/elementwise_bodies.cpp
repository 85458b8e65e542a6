// Elementwise rows that no operator of ONNX is, over smaller ops.
#include <cmath>
#include <numbers>

#include "tensor/functions.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

Tensor number(double value) { return Tensor::number(value); }

// How far recurrences move an argument up before a series in its reciprocal is exact enough in f64 for the
// dtypes that runtimes have these operators for.
constexpr int kShift = 8;

constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66};  // B2, B4, …

// Of positive arguments: digamma(x + 1) = digamma(x) + 1 / x, then the asymptotic series.
Tensor digamma_of_positive(const Tensor& x) {
  Tensor below = ops::reciprocal(x);
  for (int k = 1; k < kShift; ++k) below = below + ops::reciprocal(x + k);
  const Tensor high = x + kShift;
  const Tensor square = ops::reciprocal(high * high);
  Tensor power = square, series = ops::log(high) - ops::reciprocal(high) * 0.5;
  for (int k = 0; k < 5; ++k) {
    series = series - power * (kBernoulli[k] / (2 * k + 2));
    power = power * square;
  }
  return series - below;
}

Tensor lgamma_of_positive(const Tensor& x) {
  Tensor product = x;
  for (int k = 1; k < kShift; ++k) product = product * (x + k);
  const Tensor high = x + kShift;
  const Tensor square = ops::reciprocal(high * high);
  Tensor power = ops::reciprocal(high);
  Tensor series = (high - 0.5) * ops::log(high) - high + 0.5 * std::log(2 * std::numbers::pi);
  for (int k = 0; k < 5; ++k) {
    series = series + power * (kBernoulli[k] / ((2 * k + 2) * (2 * k + 1)));
    power = power * square;
  }
  return series - ops::log(product);
}

Tensor as_float(const Tensor& x) { return is_float(x.dtype()) ? x : ops::to(x, default_float()); }

}  // namespace

// Negative arguments by reflection: lgamma(x) = log(pi / |sin(pi x)|) - lgamma(1 - x).
Tensors lgamma(const Op&, Inputs inputs, const Attrs&) {
  const Tensor x = as_float(inputs[0]);
  const Tensor is_low = ops::lt(x, number(0.5));
  const Tensor positive = lgamma_of_positive(ops::where(is_low, 1.0 - x, x));
  const Tensor sine = ops::abs(ops::sin((x - ops::floor(x)) * std::numbers::pi));
  return {ops::where(is_low, std::log(std::numbers::pi) - ops::log(sine) - positive, positive)};
}

// digamma(x) = digamma(1 - x) - pi / tan(pi x).
Tensors digamma(const Op&, Inputs inputs, const Attrs&) {
  const Tensor x = as_float(inputs[0]);
  const Tensor is_low = ops::lt(x, number(0.5));
  const Tensor positive = digamma_of_positive(ops::where(is_low, 1.0 - x, x));
  const Tensor angle = (x - ops::floor(x)) * std::numbers::pi;
  return {ops::where(is_low, positive - std::numbers::pi * (ops::cos(angle) / ops::sin(angle)), positive)};
}

// Of n = 0 digamma. Otherwise (-1)^(n+1) n! sum over k of (x + k)^-(n+1): the first terms as they are, the
// others by the formula of Euler and Maclaurin.
Tensors polygamma(const Op& op, Inputs inputs, const Attrs& attrs) {
  const std::int64_t n = attrs.get<std::int64_t>("n");
  if (n == 0) return digamma(op, inputs, attrs);
  const Tensor x = as_float(inputs[0]);
  const auto power = [](const Tensor& base, std::int64_t exponent) {
    return ops::pow(base, number(static_cast<double>(-exponent)));
  };
  Tensor sum = power(x, n + 1);
  for (int k = 1; k < kShift; ++k) sum = sum + power(x + k, n + 1);
  const Tensor high = x + kShift;
  const double order = static_cast<double>(n);
  sum = sum + power(high, n) / order + power(high, n + 1) * 0.5;
  double rising = order + 1, factorial = 2;  // (n + 1) … (n + 2k - 1) and (2k)!
  for (int k = 1; k <= 5; ++k) {
    sum = sum + power(high, n + 2 * k) * (kBernoulli[k - 1] * rising / factorial);
    rising *= (order + 2 * k) * (order + 2 * k + 1);
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return {sum * ((n % 2 == 0 ? -1.0 : 1.0) * std::tgamma(order + 1))};
}

Tensors logit(const Op&, Inputs inputs, const Attrs& attrs) {
  Tensor x = as_float(inputs[0]);
  if (attrs.has("eps")) {
    const Attr& eps = attrs.at("eps");
    const double low = std::holds_alternative<double>(eps) ? std::get<double>(eps)
                                                           : static_cast<double>(std::get<Dim>(eps).fixed());
    x = ops::minimum(ops::maximum(x, number(low)), number(1.0 - low));
  }
  return {ops::log(x / (1.0 - x))};
}

Tensors nan_to_num(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  if (!is_float(x.dtype())) return {ops::clone(x)};
  const auto given = [&attrs](std::string_view name, double otherwise) {
    const Attr& value = attrs.at(name);
    if (const auto* real = std::get_if<double>(&value)) return number(*real);
    if (const auto* whole = std::get_if<Dim>(&value)) return number(static_cast<double>(whole->fixed()));
    return number(otherwise);
  };
  const double largest = x.dtype() == DType::F64    ? std::numeric_limits<double>::max()
                         : x.dtype() == DType::F16  ? 65504.0
                         : x.dtype() == DType::BF16 ? 3.3895313892515355e38
                                                    : std::numeric_limits<float>::max();
  const Tensor is_high = ops::logical_and(ops::isinf(x), ops::gt(x, number(0.0)));
  const Tensor is_low = ops::logical_and(ops::isinf(x), ops::lt(x, number(0.0)));
  const Tensor finite = ops::where(ops::isnan(x), given("nan", 0.0), x);
  return {
      ops::where(is_high, given("posinf", largest), ops::where(is_low, given("neginf", -largest), finite))};
}

Tensors div_rounded(const Op&, Inputs inputs, const Attrs& attrs) {
  const auto* mode = attrs.find<std::string>("rounding_mode");
  if (mode == nullptr) return {ops::div(inputs[0], inputs[1])};
  return {*mode == "floor" ? ops::floor_div(inputs[0], inputs[1]) : ops::trunc_div(inputs[0], inputs[1])};
}

Tensors atan2(const Op&, Inputs inputs, const Attrs&) {
  const Tensor y = as_float(inputs[0]), x = as_float(inputs[1]), zero = number(0.0);
  const Tensor angle = ops::atan(y / x);
  const Tensor half_turn = ops::where(ops::lt(y, zero), number(-std::numbers::pi), number(std::numbers::pi));
  const Tensor upright = ops::sign(y) * (std::numbers::pi / 2);
  return {ops::where(ops::gt(x, zero), angle, ops::where(ops::lt(x, zero), angle + half_turn, upright))};
}

// By the larger of the two, so that no square overflows.
Tensors hypot(const Op&, Inputs inputs, const Attrs&) {
  const Tensor a = ops::abs(as_float(inputs[0])), b = ops::abs(as_float(inputs[1]));
  const Tensor larger = ops::maximum(a, b), is_zero = ops::eq(larger, number(0.0));
  const Tensor share = ops::minimum(a, b) / ops::where(is_zero, number(1.0), larger);
  return {larger * ops::sqrt(share * share + 1.0)};
}

// A zero has the sign of its reciprocal.
Tensors copysign(const Op&, Inputs inputs, const Attrs&) {
  const Tensor x = as_float(inputs[0]), other = as_float(inputs[1]), zero = number(0.0);
  const Tensor is_negative = ops::lt(ops::where(ops::eq(other, zero), ops::reciprocal(other), other), zero);
  const Tensor size = ops::abs(x);
  return {ops::where(is_negative, -size, size)};
}

}  // namespace kiln::onnx_rules
