// Whole numbers of 8 and more bits that stand for floats: by a scale, from a zero point on.
#include <string>

#include "onnx/import/call.h"
#include "onnx/import/quantize.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

// A scale or zero point along an axis, or one for each block of it, as the tensor lies.
Tensor along(Call& call, const Tensor& numbers, const Tensor& x) {
  if (!numbers || numbers.rank() == 0 || x.rank() == 0) return numbers;
  const int axis = call.axis(call.integer("axis", 1), x.rank());
  const Dim block = call.integer("block_size", 0);
  if (block > 0) {
    const Tensor spread = ops::unsqueeze(numbers, axis + 1);
    Dims sizes = spread.sizes();
    sizes[static_cast<std::size_t>(axis) + 1] = block;
    Dims joined = numbers.sizes();
    joined[static_cast<std::size_t>(axis)] = numbers.size(axis) * block;
    return ops::narrow(ops::reshape(ops::expand(spread, sizes), joined), axis, 0, x.size(axis));
  }
  if (numbers.numel() == 1) return ops::reshape(numbers, {});
  Dims sizes(static_cast<std::size_t>(x.rank()), 1);
  sizes[static_cast<std::size_t>(axis)] = numbers.numel();
  return ops::reshape(numbers, sizes);
}

struct Bounds {
  double low, high;
};
Bounds bounds_of(DType dtype) {
  switch (dtype) {
    case DType::U8:
      return {0, 255};
    case DType::I8:
      return {-128, 127};
    case DType::I16:
      return {-32768, 32767};
    default:
      throw OpError(ErrorKind::DType, "quantizes to " + std::string(name(dtype)));
  }
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype) {
  Tensor whole = ops::round(ops::to(ops::div(x, scale), DType::F32));
  if (zero) whole = ops::add(whole, ops::to(zero, DType::F32));
  const Bounds bounds = bounds_of(dtype);
  return ops::to(ops::clamp(whole, bounds.low, bounds.high), dtype);
}

Values quantize(Call& call) {
  const Tensor x = call.x(0);
  const Tensor scale = along(call, call.x(1), x), zero = along(call, call.maybe(2), x);
  const AttributeProto* type = call.attribute("output_dtype");
  DType dtype = zero ? zero.dtype() : DType::U8;
  if (!zero && type != nullptr && type->i != 0) dtype = dtype_of(static_cast<ElementType>(type->i));
  const Tensor from = is_float(x.dtype()) ? x : ops::to(x, scale.dtype());
  return {quantized(from, scale, zero, dtype)};
}

Values dequantize(Call& call) {
  const Tensor x = call.x(0);
  const Tensor scale = along(call, call.x(1), x), zero = along(call, call.maybe(2), x);
  const AttributeProto* type = call.attribute("output_dtype");
  const DType dtype =
      type != nullptr && type->i != 0 ? dtype_of(static_cast<ElementType>(type->i)) : scale.dtype();
  Tensor whole = ops::to(x, DType::I32);
  if (zero) whole = ops::sub(whole, ops::to(zero, DType::I32));
  return {ops::to(ops::mul(ops::to(whole, DType::F32), ops::to(scale, DType::F32)), dtype)};
}

Values dynamic_quantize(Call& call) {
  const DynamicQuantized made = dynamically_quantized(call.x(0));
  return {made.whole, made.scale, made.zero};
}

// x, scale, zero point from input `i` on, as a float for each element; per row of the left, per column of the
// right.
Tensor floats_of(Call& call, std::size_t i, bool is_left) {
  const Tensor x = ops::to(call.x(i), DType::F64);
  const auto spread = [&](const Tensor& numbers) {
    const Tensor wide = ops::to(numbers, DType::F64);
    return is_left && wide.rank() == 1 && wide.numel() != 1 ? ops::unsqueeze(wide, 1) : wide;
  };
  return ops::mul(ops::sub(x, spread(call.x(i + 2))), spread(call.x(i + 1)));
}

Values quantized_matmul(Call& call) {
  const Tensor product = ops::matmul(floats_of(call, 0, true), floats_of(call, 3, false));
  const Tensor scale = ops::to(call.x(6), DType::F64), zero = call.x(7);
  Tensor whole = ops::round(ops::div(product, scale));
  whole = ops::add(whole, ops::to(zero, DType::F64));
  const Bounds bounds = bounds_of(zero.dtype());
  return {ops::to(ops::clamp(whole, bounds.low, bounds.high), zero.dtype())};
}

constexpr Operator kQuantizeOperators[] = {
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"QLinearMatMul", quantized_matmul},
    {"QuantizeLinear", quantize},
};

}  // namespace

DynamicQuantized dynamically_quantized(const Tensor& x) {
  const Tensor none = scalar(0, x.dtype());
  const Tensor high = ops::maximum(ops::amax(x), none), low = ops::minimum(ops::amin(x), none);
  const Tensor span = high - low;
  const Tensor scale = ops::where(ops::eq(span, none), scalar(1, x.dtype()), span / 255.0);
  const Tensor zero = ops::to(ops::clamp(ops::round(-low / scale), 0, 255), DType::U8);
  return {quantized(x, scale, zero, DType::U8), scale, zero};
}

std::span<const Operator> quantize_operators() { return kQuantizeOperators; }

}  // namespace kiln::onnx
