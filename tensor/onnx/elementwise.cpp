// Elementwise rows whose dtypes or attributes decide which operators they are.
#include <algorithm>
#include <array>

#include "tensor/onnx/expression.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

// Of numbers whose sign it has, without the fraction.
OnnxValue truncated(const OnnxApplication& app, const OnnxValue& x) {
  return app.node("Mul", {app.node("Sign", {x}), app.node("Floor", {app.node("Abs", {x})})});
}

// Both operands in the dtype of the result.
std::array<OnnxValue, 2> both(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  return {app.input(0, dtype), app.input(1, dtype)};
}

OnnxValues expanded(const OnnxApplication& app, std::size_t operand) {
  const OnnxValue x = app.input(operand, app.result().dtype);
  if (app.input_types[operand].sizes == app.result().sizes) return {app.node("Identity", {x})};
  return {app.expand(x, app.result().sizes)};
}

}  // namespace

OnnxValues rounding(const OnnxApplication& app) {
  const OnnxValue x = app.input(0, app.result().dtype);
  if (!is_float(x.dtype)) return {app.node("Identity", {x})};
  const std::string_view name = app.op.name();
  if (name == "trunc") return {truncated(app, x)};
  if (name != "round") return {app.node(name == "floor" ? "Floor" : "Ceil", {x})};
  const std::int64_t decimals = app.attrs.get<std::int64_t>("decimals");
  if (decimals == 0) return {app.node("Round", {x})};
  double scale = 1;
  for (std::int64_t i = 0; i < std::abs(decimals); ++i) scale *= 10;
  const OnnxValue factor = app.scalar(scale, x.dtype);
  const bool is_whole = decimals < 0;
  const OnnxValue scaled = app.node("Round", {app.node(is_whole ? "Div" : "Mul", {x, factor})});
  return {app.node(is_whole ? "Mul" : "Div", {scaled, factor})};
}

OnnxValues gelu(const OnnxApplication& app) {
  const OnnxValue x = app.input(0, app.result().dtype);
  const std::string& form = app.attrs.get<std::string>("approximate");
  if (app.opset() >= 20) return {app.node("Gelu", {x}, {{"approximate", form}})};
  const auto times = [&app](const OnnxValue& a, double b) {
    return app.node("Mul", {a, app.scalar(b, a.dtype)});
  };
  const OnnxValue one = app.scalar(1, x.dtype);
  OnnxValue share;
  if (form == "tanh") {
    const OnnxValue cube = times(app.node("Mul", {app.node("Mul", {x, x}), x}), 0.044715);
    share = app.node("Tanh", {times(app.node("Add", {x, cube}), 0.7978845608028654)});
  } else {
    share = app.node("Erf", {times(x, 0.7071067811865476)});
  }
  return {times(app.node("Mul", {x, app.node("Add", {share, one})}), 0.5)};
}

OnnxValues bitwise_not(const OnnxApplication& app) {
  const OnnxValue x = app.input(0);
  if (x.dtype == DType::Bool) return {app.node("Not", {x})};
  if (app.opset() >= 18) return {app.node("BitwiseNot", {x})};
  return {app.node("Sub", {app.scalar(-1, x.dtype), x})};
}

// Mod of integers has the sign of the divisor, and so what is left of the dividend divides exactly.
OnnxValues floor_div(const OnnxApplication& app) {
  const auto [a, b] = both(app);
  if (is_float(a.dtype)) return {app.node("Floor", {app.node("Div", {a, b})})};
  return {app.node("Div", {app.node("Sub", {a, app.node("Mod", {a, b})}), b})};
}

OnnxValues trunc_div(const OnnxApplication& app) {
  const auto [a, b] = both(app);
  const OnnxValue quotient = app.node("Div", {a, b});
  return {is_float(a.dtype) ? truncated(app, quotient) : quotient};
}

OnnxValues remainder(const OnnxApplication& app) {
  const auto [a, b] = both(app);
  if (!is_float(a.dtype)) return {app.node("Mod", {a, b})};
  const OnnxValue rest = app.node("Mod", {a, b}, {{"fmod", std::int64_t{1}}});
  const OnnxValue zero = app.scalar(0, a.dtype);
  const OnnxValue is_other = app.node("Xor", {app.node("Less", {rest, zero}), app.node("Less", {b, zero})});
  const OnnxValue is_exact = app.node("Equal", {rest, zero});
  const OnnxValue shifts = app.node("And", {is_other, app.node("Not", {is_exact})});
  return {app.node("Where", {shifts, app.node("Add", {rest, b}), rest})};
}

OnnxValues clamp(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  OnnxValue x = app.input(0, dtype);
  if (app.has(1)) x = app.node("Max", {x, app.input(1, dtype)});
  if (app.has(2)) x = app.node("Min", {x, app.input(2, dtype)});
  return {x};
}

OnnxValues first_operand(const OnnxApplication& app) { return expanded(app, 0); }
OnnxValues second_operand(const OnnxApplication& app) { return expanded(app, 1); }

}  // namespace kiln::onnx_rules
