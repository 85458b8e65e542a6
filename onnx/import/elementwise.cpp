// Operators on elements one by one: arithmetic, functions of one number, casts.
#include <algorithm>

#include "onnx/import/call.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::onnx {
namespace {

template <Tensor (*F)(const Tensor&)>
Values unary(Call& call) {
  return {F(call.x(0))};
}
template <Tensor (*F)(const Tensor&, const Tensor&)>
Values binary(Call& call) {
  return {F(call.x(0), call.x(1))};
}

// Operators before version 7 broadcast only where `broadcast` asks for it, from `axis` on.
template <Tensor (*F)(const Tensor&, const Tensor&)>
Values arithmetic(Call& call) {
  const Tensor a = call.x(0);
  Tensor b = call.x(1);
  if (call.opset() < 7 && call.attribute("axis") != nullptr) {
    const int axis = call.axis(call.integer("axis", 0), a.rank());
    for (int trailing = a.rank() - axis - b.rank(); trailing > 0; --trailing) b = ops::unsqueeze(b, b.rank());
  }
  return {F(a, b)};
}

// Whole numbers are divided toward zero.
Tensor divide(const Tensor& a, const Tensor& b) {
  return is_float(a.dtype()) ? ops::div(a, b) : ops::trunc_div(a, b);
}

Values power(Call& call) {
  const Tensor base = call.x(0);
  const Tensor exponent = call.x(1);
  return {ops::to(ops::pow(base, exponent), base.dtype())};
}

Values modulo(Call& call) {
  const Tensor a = call.x(0);
  if (call.integer("fmod", 0) != 0) return {ops::fmod(a, call.x(1))};
  return {ops::remainder(a, call.x(1))};
}

template <Tensor (*F)(const Tensor&, const Tensor&)>
Values variadic(Call& call) {
  Tensor result = call.x(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) result = F(result, call.x(i));
  return {result};
}

Values mean(Call& call) {
  const Tensor total = variadic<ops::add>(call)[0].tensor;
  return {total / static_cast<double>(call.inputs.size())};
}

Values clip(Call& call) {
  const Tensor x = call.x(0);
  if (call.opset() >= 11) {
    Tensor result = x;
    if (call.has(1)) result = ops::maximum(result, call.x(1));
    if (call.has(2)) result = ops::minimum(result, call.x(2));
    return {result};
  }
  const auto bound = [&](std::string_view name) -> std::optional<double> {
    return call.attribute(name) == nullptr ? std::nullopt : std::optional(call.real(name, 0));
  };
  return {ops::clamp(x, bound("min"), bound("max"))};
}

Tensor cast_to(const Tensor& x, DType dtype) {
  if (dtype == DType::Bool && x.dtype() != DType::Bool) return ops::ne(x, scalar(0, x.dtype()));
  return ops::to(x, dtype);
}

Values cast(Call& call) {
  const DType dtype = dtype_of(static_cast<ElementType>(call.integer("to", 0)));
  return {cast_to(call.x(0), dtype)};
}

Values cast_like(Call& call) { return {cast_to(call.x(0), call.x(1).dtype())}; }

Values identity(Call& call) { return {call.inputs.at(0)}; }

// Of whole numbers the same number.
template <Tensor (*F)(const Tensor&)>
Values rounded(Call& call) {
  const Tensor x = call.x(0);
  return {is_float(x.dtype()) ? F(x) : x};
}

bool is_whole_byte(DType dtype) { return dtype == DType::I8 || dtype == DType::U8; }

// The same bits as another dtype. Among bytes that is a conversion; no op does it to others, so that their
// elements must be known.
Values bit_cast(Call& call) {
  const AttributeProto* to = call.attribute("to");
  const Tensor x = call.inputs[0].elements ? call.inputs[0].elements : call.x(0);
  if (to == nullptr) call.refuse("does not say to what it casts");
  const DType dtype = dtype_of(static_cast<ElementType>(to->i));
  if (size_of(dtype) != size_of(x.dtype()) || dtype == DType::Bool)
    call.refuse("has no " + std::string(name(dtype)) + " with the bits of " + to_string(x.type()));
  if (is_whole_byte(dtype) && (is_whole_byte(x.dtype()) || x.dtype() == DType::Bool))
    return {ops::to(x, dtype)};
  if (!call.knows(0)) static_cast<void>(call.numbers(0));  // which says what it follows
  const Tensor made = Tensor::empty(x.sizes(), dtype);
  const HostView from(x, x.dtype());
  const WritableHostView into(made);
  std::copy_n(from.bytes(), from.byte_count(), into.bytes());
  return {made};
}

// All bits are shifted out by as many places as there are, and by fewer than none.
Values shift(Call& call) {
  const Tensor a = call.x(0), b = call.x(1);
  const bool is_left = call.word("direction", "") == "LEFT";
  const auto bits = static_cast<double>(8 * size_of(a.dtype()));
  const Tensor places = ops::clamp(b, 0, bits - 1);
  const Tensor shifted = is_left ? ops::bitwise_left_shift(a, places) : ops::bitwise_right_shift(a, places);
  const Tensor zero = scalar(0, a.dtype());
  const Tensor sign = ops::where(ops::lt(a, zero), ops::sub(zero, scalar(1, a.dtype())), zero);
  return {ops::where(ops::eq(places, b), shifted, is_left || a.dtype() == DType::U8 ? zero : sign)};
}

Values is_infinite(Call& call) {
  const Tensor x = call.x(0);
  const bool negative = call.integer("detect_negative", 1) != 0;
  const bool positive = call.integer("detect_positive", 1) != 0;
  Tensor found = ops::isinf(x);
  if (!negative) found = ops::logical_and(found, ops::gt(x, scalar(0, x.dtype())));
  if (!positive) found = ops::logical_and(found, ops::lt(x, scalar(0, x.dtype())));
  return {found};
}

constexpr Operator kElementwiseOperators[] = {
    {"Abs", unary<ops::abs>},
    {"Acos", unary<ops::acos>},
    {"Acosh", unary<ops::acosh>},
    {"Add", arithmetic<ops::add>},
    {"Asin", unary<ops::asin>},
    {"Asinh", unary<ops::asinh>},
    {"Atan", unary<ops::atan>},
    {"Atanh", unary<ops::atanh>},
    {"BitCast", bit_cast},
    {"BitShift", shift},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", rounded<ops::ceil>},
    {"Clip", clip},
    {"Cos", unary<ops::cos>},
    {"Cosh", unary<ops::cosh>},
    {"Div", arithmetic<divide>},
    {"Erf", unary<ops::erf>},
    {"Exp", unary<ops::exp>},
    {"Floor", rounded<ops::floor>},
    {"Identity", identity},
    {"IsInf", is_infinite},
    {"IsNaN", unary<ops::isnan>},
    {"Log", unary<ops::log>},
    {"Max", variadic<ops::maximum>},
    {"Mean", mean},
    {"Min", variadic<ops::minimum>},
    {"Mod", modulo},
    {"Mul", arithmetic<ops::mul>},
    {"Neg", unary<ops::neg>},
    {"Pow", power},
    {"Reciprocal", unary<ops::reciprocal>},
    {"Round", rounded<ops::round>},
    {"Sign", unary<ops::sign>},
    {"Sin", unary<ops::sin>},
    {"Sinh", unary<ops::sinh>},
    {"Sqrt", unary<ops::sqrt>},
    {"Sub", arithmetic<ops::sub>},
    {"Sum", variadic<ops::add>},
    {"Tan", unary<ops::tan>},
    {"Tanh", unary<ops::tanh>},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwiseOperators; }

}  // namespace kiln::onnx
