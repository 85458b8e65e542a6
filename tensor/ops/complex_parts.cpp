#include "tensor/ops/complex_parts.h"

#include "tensor/ops/pointwise.h"

namespace kiln {
namespace {

// A host number in two.
Parts parts_of_number(const Tensor& number) {
  const Complex<double> value = number.item_complex();
  return {Tensor::number(value.real), Tensor::number(value.imaginary)};
}

Tensor as_part(const Tensor& x, DType part) { return !x || x.is_number() ? x : ops::to(x, part); }

}  // namespace

Tensor Parts::imaginary_or_zero() const {
  if (imaginary) return imaginary;
  return real.is_number() ? Tensor::number(0.0) : ops::zeros_like(real);
}

DType complex_result(Inputs operands) {
  SmallVector<OperandType, 4> types;
  bool only_numbers = true;
  for (const Tensor& each : operands) {
    if (!each) continue;
    types.push_back({each.dtype(), each.is_number(), each.rank() > 0});
    only_numbers = only_numbers && each.is_number();
  }
  return promote_operands({types.data(), types.size()}, only_numbers);
}

Parts parts_of(const Tensor& x) {
  if (!x || !is_complex(x.dtype())) return {x, {}};
  return x.is_number() ? parts_of_number(x) : Parts{ops::real(x), ops::imag(x)};
}

Parts parts_of(const Tensor& x, DType complex) {
  const Parts parts = parts_of(x);
  return {as_part(parts.real, part_of(complex)), as_part(parts.imaginary, part_of(complex))};
}

Tensor joined(const Parts& z) {
  return ops::complex(z.real, z.imaginary ? z.imaginary : Tensor::number(0.0));
}

Parts times_i(const Parts& z) { return {-z.imaginary_or_zero(), z.real}; }

Parts negative(const Parts& z) { return {-z.real, z.is_real() ? Tensor() : -z.imaginary}; }

Parts conjugate(const Parts& z) { return {z.real, z.is_real() ? Tensor() : -z.imaginary}; }

Parts sum(const Parts& a, const Parts& b) {
  const Tensor real = a.real + b.real;
  if (a.is_real()) return {real, b.imaginary};
  return {real, b.is_real() ? a.imaginary : a.imaginary + b.imaginary};
}

Parts difference(const Parts& a, const Parts& b) {
  const Tensor real = a.real - b.real;
  if (b.is_real()) return {real, a.imaginary};
  return {real, a.is_real() ? -b.imaginary : a.imaginary - b.imaginary};
}

Parts product(const Parts& a, const Parts& b) {
  if (a.is_real()) return {a.real * b.real, b.is_real() ? Tensor() : a.real * b.imaginary};
  if (b.is_real()) return {a.real * b.real, a.imaginary * b.real};
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

// Smith's method: the divisor's longer part is divided out of it, so that nothing overflows but what must.
Parts quotient(const Parts& a, const Parts& b) {
  if (b.is_real()) return {a.real / b.real, a.is_real() ? Tensor() : a.imaginary / b.real};
  const Tensor lies_flat = ops::ge(ops::abs(b.real), ops::abs(b.imaginary));
  const Tensor longer = ops::where(lies_flat, b.real, b.imaginary);
  const Tensor shorter = ops::where(lies_flat, b.imaginary, b.real);
  // Of a divisor 0 the ratio is 0, so that parts of the quotient are infinite, or nan of 0 / 0.
  const Tensor ratio = ops::where(ops::eq(longer, Tensor::number(0.0)), shorter, shorter / longer);
  const Tensor divisor = longer + shorter * ratio;
  if (a.is_real()) {
    const Tensor turned = a.real * ratio;
    return {ops::where(lies_flat, a.real, turned) / divisor,
            -(ops::where(lies_flat, turned, a.real) / divisor)};
  }
  const Tensor along = ops::where(lies_flat, a.real, a.imaginary);
  const Tensor across = ops::where(lies_flat, a.imaginary, a.real);
  const Tensor rest = across - along * ratio;
  return {(along + across * ratio) / divisor, ops::where(lies_flat, rest, -rest) / divisor};
}

Parts scaled(const Parts& z, double factor) {
  return {z.real * factor, z.is_real() ? Tensor() : z.imaginary * factor};
}

namespace {

Tensor is_zero(const Parts& z) {
  const Tensor zero = Tensor::number(0.0);
  return ops::logical_and(ops::eq(z.real, zero), ops::eq(z.imaginary, zero));
}

}  // namespace

Tensor modulus(const Parts& z) {
  if (z.is_real()) return ops::abs(z.real);
  const Tensor zero = is_zero(z);
  const Tensor size = ops::hypot(ops::where(zero, Tensor::number(1.0), z.real), z.imaginary);
  return ops::where(zero, Tensor::number(0.0), size);
}

Tensor angle(const Parts& z) { return ops::atan2(z.imaginary_or_zero(), z.real); }

// The larger part of the root is free of cancellation, and the other one follows from 2 * re * im. Halves are
// taken before the modulus, which so does not overflow.
Parts square_root(const Parts& z) {
  const Tensor zero = is_zero(z);
  const Tensor half = ops::where(zero, Tensor::number(0.5), z.real * 0.5);
  const Tensor larger = ops::sqrt(ops::hypot(half, z.imaginary * 0.5) + ops::abs(half));
  const Tensor smaller = ops::abs(z.imaginary) * 0.5 / larger;
  const Tensor lies_right = ops::ge(z.real, Tensor::number(0.0));
  const Tensor real = ops::where(lies_right, larger, smaller);
  const Tensor size = ops::where(lies_right, smaller, larger);
  return {ops::where(zero, Tensor::number(0.0), real),
          ops::where(zero, z.imaginary, ops::copysign(size, z.imaginary))};
}

}  // namespace kiln
