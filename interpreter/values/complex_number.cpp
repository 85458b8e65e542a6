#include "interpreter/values/complex_number.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "interpreter/values/compare_numbers.h"
#include "interpreter/values/raise.h"

namespace kiln::interp {
namespace {

using lang::BinaryOp;
using Number = kiln::Complex<double>;

[[noreturn]] void division_by_zero() { raise("ValueError", "division by zero"); }

bool is_zero(Number a) { return a.real == 0 && a.imaginary == 0; }

Number product(Number a, Number b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

// By Smith's method: divided by the larger part first, so that squares do not overflow.
Number quotient(Number a, Number b) {
  if (is_zero(b)) division_by_zero();
  if (std::fabs(b.real) >= std::fabs(b.imaginary)) {
    const double ratio = b.imaginary / b.real;
    const double divisor = b.real + b.imaginary * ratio;
    return {(a.real + a.imaginary * ratio) / divisor, (a.imaginary - a.real * ratio) / divisor};
  }
  const double ratio = b.real / b.imaginary;
  const double divisor = b.real * ratio + b.imaginary;
  return {(a.real * ratio + a.imaginary) / divisor, (a.imaginary * ratio - a.real) / divisor};
}

Number whole_power(Number base, std::int64_t exponent) {
  Number result{1, 0};
  for (std::int64_t rest = std::abs(exponent); rest > 0; rest >>= 1) {
    if ((rest & 1) != 0) result = product(result, base);
    if (rest > 1) base = product(base, base);
  }
  return exponent < 0 ? quotient({1, 0}, result) : result;
}

// Small whole exponents are products; others go by absolute value and angle.
Number power(Number base, Number exponent) {
  constexpr double kMostProducts = 100;
  if (is_zero(exponent)) return {1, 0};
  if (is_zero(base)) {
    if (exponent.imaginary != 0 || exponent.real < 0) division_by_zero();
    return {0, 0};
  }
  const bool is_whole = exponent.imaginary == 0 && exponent.real == std::floor(exponent.real);
  if (is_whole && std::fabs(exponent.real) <= kMostProducts)
    return whole_power(base, static_cast<std::int64_t>(exponent.real));
  const double length = complex_abs(base);
  const double angle = std::atan2(base.imaginary, base.real);
  double size = std::pow(length, exponent.real);
  double turn = angle * exponent.real;
  if (exponent.imaginary != 0) {
    size *= std::exp(-angle * exponent.imaginary);
    turn += exponent.imaginary * std::log(length);
  }
  return {size * std::cos(turn), size * std::sin(turn)};
}

}  // namespace

Value complex_value(double real, double imaginary) { return make<ComplexNumber>(Number{real, imaginary}); }

Value complex_operator(BinaryOp op, const Value& left, const Value& right) {
  const Number a = complex_of(left);
  const Number b = complex_of(right);
  switch (op) {
    case BinaryOp::Add:
      return complex_value(a.real + b.real, a.imaginary + b.imaginary);
    case BinaryOp::Sub:
      return complex_value(a.real - b.real, a.imaginary - b.imaginary);
    case BinaryOp::Mul:
      return complex_value(product(a, b));
    case BinaryOp::Div:
      return complex_value(quotient(a, b));
    case BinaryOp::Pow:
      return complex_value(power(a, b));
    default:
      break;
  }
  const bool is_division = op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  raise("TypeError",
        "`" + std::string(lang::spelling(op)) + "` does not work on " + std::string(type_name(left)) +
            " and " + std::string(type_name(right)),
        is_division ? "complex numbers have no order, so no remainder: compute with `z.real` and `z.imag`"
                    : "complex numbers have no bits: take `z.real` and `z.imag` apart");
}

bool complex_equal(const Value& a, const Value& b) {
  if (a.is(Tag::Complex) && b.is(Tag::Complex)) return complex_of(a) == complex_of(b);
  const Number z = complex_of(a.is(Tag::Complex) ? a : b);
  const Value& number = a.is(Tag::Complex) ? b : a;
  return z.imaginary == 0 && compare_numbers(number, z.real) == std::partial_ordering::equivalent;
}

bool same_complex_bits(const ComplexNumber& a, const ComplexNumber& b) {
  const auto bits = [](double v) { return std::bit_cast<std::int64_t>(v); };
  return bits(a.value.real) == bits(b.value.real) && bits(a.value.imaginary) == bits(b.value.imaginary);
}

std::size_t complex_hash(const ComplexNumber& v) {
  const std::size_t real = hash_value(v.value.real);
  if (v.value.imaginary == 0) return real;  // equal to a real number, whose hash it has
  return real ^ (hash_value(v.value.imaginary) * 1000003U);
}

double complex_abs(kiln::Complex<double> v) { return std::hypot(v.real, v.imaginary); }

}  // namespace kiln::interp
