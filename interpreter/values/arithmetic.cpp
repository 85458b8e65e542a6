#include "interpreter/values/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "interpreter/values/raise.h"

namespace kiln::interp {
namespace {

using lang::BinaryOp;
using Int = std::int64_t;

[[noreturn]] void overflow(Int a, std::string_view op, Int b) {
  raise("OverflowError",
        "the result of " + std::to_string(a) + " " + std::string(op) + " " + std::to_string(b) +
            " does not fit an int (64 bits)",
        "use floats, or a smaller number");
}

[[noreturn]] void division_by_zero() { raise("ValueError", "division by zero"); }

Value add(Int a, Int b) {
  Int result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow(a, "+", b);
  return result;
}
Value sub(Int a, Int b) {
  Int result = 0;
  if (__builtin_sub_overflow(a, b, &result)) overflow(a, "-", b);
  return result;
}
Value mul(Int a, Int b) {
  Int result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow(a, "*", b);
  return result;
}
Value div(Int a, Int b) {
  if (b == 0) division_by_zero();
  // Wide enough to hold both exactly.
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}
Value floor_div(Int a, Int b) {
  if (b == 0) division_by_zero();
  if (b == -1 && a == std::numeric_limits<Int>::min()) overflow(a, "//", b);
  const Int quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
Value mod(Int a, Int b) {
  if (b == 0) division_by_zero();
  if (b == -1) return Int{0};
  const Int rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Value pow_int(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) division_by_zero();
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  Int result = 1;
  Int square = base;
  for (Int rest = exponent; rest > 0; rest >>= 1) {
    if ((rest & 1) != 0 && __builtin_mul_overflow(result, square, &result)) overflow(base, "**", exponent);
    if (rest > 1 && __builtin_mul_overflow(square, square, &square)) overflow(base, "**", exponent);
  }
  return result;
}
Value shift_left(Int a, Int b) {
  if (b < 0) raise("ValueError", "cannot shift by a negative number of bits");
  if (a == 0) return Int{0};
  if (b > 63 || (a << b) >> b != a) overflow(a, "<<", b);
  return a << b;
}
Value shift_right(Int a, Int b) {
  if (b < 0) raise("ValueError", "cannot shift by a negative number of bits");
  return a >> std::min<Int>(b, 63);
}
Value bit_and(Int a, Int b) { return a & b; }
Value bit_or(Int a, Int b) { return a | b; }
Value bit_xor(Int a, Int b) { return a ^ b; }

Value add(double a, double b) { return a + b; }
Value sub(double a, double b) { return a - b; }
Value mul(double a, double b) { return a * b; }
Value div(double a, double b) {
  if (b == 0) division_by_zero();
  return a / b;
}
Value mod(double a, double b) {
  if (b == 0) division_by_zero();
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
Value floor_div(double a, double b) {
  if (b == 0) division_by_zero();
  // The remainder is exact, so the quotient is a whole number but for rounding (as CPython computes it).
  const double quotient = (a - mod(a, b).as_float()) / b;
  return std::floor(quotient) + (quotient - std::floor(quotient) > 0.5 ? 1 : 0);
}
Value pow_float(double a, double b) {
  if (a == 0 && b < 0) division_by_zero();
  return std::pow(a, b);
}

struct Row {
  Value (*of_ints)(Int, Int);
  Value (*of_floats)(double, double);  // null: not defined
};
// In the order of lang::BinaryOp.
constexpr std::array<Row, 13> kRows = {{{add, add},
                                        {sub, sub},
                                        {mul, mul},
                                        {div, div},
                                        {floor_div, floor_div},
                                        {mod, mod},
                                        {pow_int, pow_float},
                                        {nullptr, nullptr},
                                        {bit_and, nullptr},
                                        {bit_or, nullptr},
                                        {bit_xor, nullptr},
                                        {shift_left, nullptr},
                                        {shift_right, nullptr}}};

bool is_logic(BinaryOp op) {
  return op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor;
}

}  // namespace

Value negate(Int v) {
  Int result = 0;
  if (__builtin_sub_overflow(Int{0}, v, &result)) {
    raise("OverflowError", "the result of -(" + std::to_string(v) + ") does not fit an int (64 bits)",
          "use floats, or a smaller number");
  }
  return result;
}

Value number_operator(BinaryOp op, const Value& a, const Value& b) {
  const Row& row = kRows[static_cast<std::size_t>(op)];
  const bool real = a.is(Tag::Float) || b.is(Tag::Float);
  if (real ? row.of_floats == nullptr : row.of_ints == nullptr) {
    raise("TypeError", "`" + std::string(lang::spelling(op)) + "` does not work on " +
                           std::string(type_name(a)) + " and " + std::string(type_name(b)));
  }
  if (real) return row.of_floats(a.number(), b.number());
  const Value result = row.of_ints(a.as_int(), b.as_int());
  if (is_logic(op) && a.is(Tag::Bool) && b.is(Tag::Bool)) return result.as_int() != 0;
  return result;
}

}  // namespace kiln::interp
