// Functions of complex numbers, written over those of real ones. Inverse functions follow W. Kahan, "Branch
// cuts for complex elementary functions" (1987), and have its branch cuts.
#include <cmath>
#include <optional>

#include "tensor/ops/complex_parts.h"
#include "tensor/ops/complex_rules.h"

namespace kiln::complex_rules {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn10 = 2.302585092994046;
constexpr double kMostProducts = 64;  // up to which powers are products

Tensor number(double value) { return Tensor::number(value); }

Parts operand(Inputs inputs) { return parts_of(inputs[0]); }
Parts one() { return {number(1.0), {}}; }

// ---- exp, log ----

Parts exp_of(const Parts& z) {
  const Tensor size = ops::exp(z.real);
  return {size * ops::cos(z.imaginary), size * ops::sin(z.imaginary)};
}

// log |1 + x + iy|, where `x` may say more digits than 1 + x. Near the circle |1 + x + iy| = 1 by log1p.
Tensor log_of_modulus(const Tensor& x, const Tensor& one_more, const Tensor& y) {
  const Tensor size = ops::hypot(one_more, y);
  const Tensor is_near = ops::logical_and(ops::gt(size, number(0.5)), ops::lt(size, number(2.0)));
  const Tensor excess = ops::where(is_near, x * (one_more + 1.0) + y * y, number(0.0));
  const Tensor far = ops::where(is_near, number(1.0), size);
  return ops::where(is_near, ops::log1p(excess) * 0.5, ops::log(far));
}

Parts log_of(const Parts& z) {
  const Tensor a = ops::abs(z.real), b = ops::abs(z.imaginary_or_zero());
  const Tensor longer = ops::maximum(a, b), shorter = ops::minimum(a, b);
  return {log_of_modulus(longer - 1.0, longer, shorter), angle(z)};
}

// ---- Powers ----

// By products, of which the same are used for all elements.
Parts whole_power(Parts base, std::int64_t exponent) {
  std::int64_t rest = std::abs(exponent);
  Parts result;
  for (bool is_first = true; rest > 0; rest /= 2) {
    if (rest % 2 == 1) {
      result = is_first ? base : product(result, base);
      is_first = false;
    }
    if (rest > 1) base = product(base, base);
  }
  return exponent < 0 ? quotient(one(), result) : result;
}

// The exponent as an integer that products compute, where it is one number for all.
std::optional<std::int64_t> few_products(const Tensor& exponent) {
  if (!exponent.is_number() || exponent.is_symbol()) return std::nullopt;
  const Complex<double> value = exponent.item_complex();
  if (value.imaginary != 0 || value.real != std::trunc(value.real) || value.real == 0) return std::nullopt;
  if (std::abs(value.real) > kMostProducts) return std::nullopt;
  return static_cast<std::int64_t>(value.real);
}

// |base|^c e^(-d angle), turned by c angle + d log |base|, of an exponent c + id.
Parts power(const Parts& base, const Parts& exponent) {
  const Tensor turn = angle(base);
  const Tensor size = modulus(base);
  Tensor result = ops::pow(size, exponent.real), turned = exponent.real * turn;
  if (!exponent.is_real()) {
    const Tensor is_zero = ops::eq(size, number(0.0));
    result = result * ops::exp(-(exponent.imaginary * turn));
    turned = turned + exponent.imaginary * ops::log(ops::where(is_zero, number(1.0), size));
  }
  return {result * ops::cos(turned), result * ops::sin(turned)};
}

// ---- Trigonometric and hyperbolic functions ----

Parts sinh_of(const Parts& z) {
  return {ops::sinh(z.real) * ops::cos(z.imaginary), ops::cosh(z.real) * ops::sin(z.imaginary)};
}
Parts cosh_of(const Parts& z) {
  return {ops::cosh(z.real) * ops::cos(z.imaginary), ops::sinh(z.real) * ops::sin(z.imaginary)};
}
// (t + is) / (1 + its) of t = tanh a and s = tan b, with 1 - t^2 as 1 / cosh^2 a.
Parts tanh_of(const Parts& z) {
  const Tensor t = ops::tanh(z.real), s = ops::tan(z.imaginary);
  const Tensor secant = ops::reciprocal(ops::cosh(z.real));
  const Tensor squared = s * s;
  const Tensor divisor = t * t * squared + 1.0;
  return {t * (squared + 1.0) / divisor, s * (secant * secant) / divisor};
}

// f(z) = -i g(iz), as of sin and sinh.
template <class G>
Parts turned(const Parts& z, const G& g) {
  const Parts of = g(times_i(z));
  return {of.imaginary, -of.real};
}

// Roots of 1 - z and 1 + z, or of z - 1 and z + 1.
struct Roots {
  Parts below, above;
};
Roots roots_about_one(const Parts& z) {
  return {square_root({1.0 - z.real, -z.imaginary}), square_root({z.real + 1.0, z.imaginary})};
}

Parts asin_of(const Parts& z) {
  const auto [below, above] = roots_about_one(z);
  return {ops::atan2(z.real, product(below, above).real),
          ops::asinh(product(conjugate(below), above).imaginary)};
}
Parts acos_of(const Parts& z) {
  const auto [below, above] = roots_about_one(z);
  return {ops::atan2(below.real, above.real) * 2.0, ops::asinh(product(conjugate(above), below).imaginary)};
}
Parts acosh_of(const Parts& z) {
  const Parts below = square_root({z.real - 1.0, z.imaginary});
  const Parts above = square_root({z.real + 1.0, z.imaginary});
  return {ops::asinh(product(conjugate(below), above).real), ops::atan2(below.imaginary, above.real) * 2.0};
}
// An odd function, taken of z or -z, so that the ratio is at least 0 and nothing cancels in its logarithm.
Parts atanh_of(const Parts& z) {
  const Tensor sign = ops::where(ops::lt(z.real, number(0.0)), number(-1.0), ops::ones_like(z.real));
  const Tensor size = z.real * sign;
  const Tensor left = 1.0 - size, squared = z.imaginary * z.imaginary;
  const Tensor ratio = size * 4.0 / (left * left + squared);
  return {ops::log1p(ratio) * sign * 0.25,
          ops::atan2(z.imaginary * 2.0, left * (size + 1.0) - squared) * 0.5};
}

Parts sigmoid_of(const Parts& z) { return quotient(one(), sum(one(), exp_of(negative(z)))); }

}  // namespace

Tensors sqrt(const Op&, Inputs inputs, const Attrs&) { return {joined(square_root(operand(inputs)))}; }
Tensors rsqrt(const Op&, Inputs inputs, const Attrs&) {
  return {joined(quotient(one(), square_root(operand(inputs))))};
}

Tensors exp(const Op&, Inputs inputs, const Attrs&) { return {joined(exp_of(operand(inputs)))}; }
Tensors exp2(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = operand(inputs);
  const Tensor size = ops::exp2(z.real), turn = z.imaginary * kLn2;
  return {joined({size * ops::cos(turn), size * ops::sin(turn)})};
}
// The real part is e^a cos b - 1 = (e^a - 1) cos b - 2 sin^2(b / 2).
Tensors expm1(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = operand(inputs);
  const Tensor half = ops::sin(z.imaginary * 0.5);
  return {joined({ops::expm1(z.real) * ops::cos(z.imaginary) - half * half * 2.0,
                  ops::exp(z.real) * ops::sin(z.imaginary)})};
}

Tensors log(const Op&, Inputs inputs, const Attrs&) { return {joined(log_of(operand(inputs)))}; }
Tensors log2(const Op&, Inputs inputs, const Attrs&) {
  return {joined(scaled(log_of(operand(inputs)), 1 / kLn2))};
}
Tensors log10(const Op&, Inputs inputs, const Attrs&) {
  return {joined(scaled(log_of(operand(inputs)), 1 / kLn10))};
}
Tensors log1p(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = operand(inputs);
  const Tensor one_more = z.real + 1.0;
  return {joined({log_of_modulus(z.real, one_more, z.imaginary), ops::atan2(z.imaginary, one_more)})};
}

Tensors pow(const Op&, Inputs inputs, const Attrs&) {
  const DType type = complex_result(inputs);
  const Parts base = parts_of(inputs[0], type);
  if (const auto exponent = few_products(inputs[1])) return {joined(whole_power(base, *exponent))};
  return {joined(power(base, parts_of(inputs[1], type)))};
}

Tensors sinh(const Op&, Inputs inputs, const Attrs&) { return {joined(sinh_of(operand(inputs)))}; }
Tensors cosh(const Op&, Inputs inputs, const Attrs&) { return {joined(cosh_of(operand(inputs)))}; }
Tensors tanh(const Op&, Inputs inputs, const Attrs&) { return {joined(tanh_of(operand(inputs)))}; }
Tensors sin(const Op&, Inputs inputs, const Attrs&) { return {joined(turned(operand(inputs), sinh_of))}; }
Tensors cos(const Op&, Inputs inputs, const Attrs&) { return {joined(cosh_of(times_i(operand(inputs))))}; }
Tensors tan(const Op&, Inputs inputs, const Attrs&) { return {joined(turned(operand(inputs), tanh_of))}; }

Tensors asin(const Op&, Inputs inputs, const Attrs&) { return {joined(asin_of(operand(inputs)))}; }
Tensors acos(const Op&, Inputs inputs, const Attrs&) { return {joined(acos_of(operand(inputs)))}; }
Tensors atan(const Op&, Inputs inputs, const Attrs&) { return {joined(turned(operand(inputs), atanh_of))}; }
Tensors asinh(const Op&, Inputs inputs, const Attrs&) { return {joined(turned(operand(inputs), asin_of))}; }
Tensors acosh(const Op&, Inputs inputs, const Attrs&) { return {joined(acosh_of(operand(inputs)))}; }
Tensors atanh(const Op&, Inputs inputs, const Attrs&) { return {joined(atanh_of(operand(inputs)))}; }

Tensors sigmoid(const Op&, Inputs inputs, const Attrs&) { return {joined(sigmoid_of(operand(inputs)))}; }
Tensors silu(const Op&, Inputs inputs, const Attrs&) {
  const Parts z = operand(inputs);
  return {joined(product(z, sigmoid_of(z)))};
}

}  // namespace kiln::complex_rules
