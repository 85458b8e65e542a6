#include "jit/flow/number_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kiln::jit {
namespace {

using Int = std::int64_t;
using NumberResult = std::optional<FlowNumber>;

// ---- Ints ----

NumberResult checked_add(Int a, Int b) {
  Int result = 0;
  if (__builtin_add_overflow(a, b, &result)) return {};
  return result;
}
NumberResult checked_sub(Int a, Int b) {
  Int result = 0;
  if (__builtin_sub_overflow(a, b, &result)) return {};
  return result;
}
NumberResult checked_mul(Int a, Int b) {
  Int result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return {};
  return result;
}
NumberResult quotient(Int a, Int b) {
  if (b == 0) return {};
  // Wide enough to hold both exactly.
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}
NumberResult floor_quotient(Int a, Int b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<Int>::min())) return {};
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
NumberResult floor_rest(Int a, Int b) {
  if (b == 0) return {};
  if (b == -1) return Int{0};
  const Int rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
NumberResult power(Int base, Int exponent) {
  if (exponent < 0) return {};  // a float, or an error
  Int result = 1;
  for (Int rest = exponent; rest > 0; rest >>= 1) {
    if ((rest & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return {};
    if (rest > 1 && __builtin_mul_overflow(base, base, &base)) return {};
  }
  return result;
}
NumberResult shifted_left(Int a, Int b) {
  if (b < 0) return {};
  if (a == 0) return Int{0};
  if (b > 63) return {};
  const auto shifted = std::bit_cast<Int>(std::bit_cast<std::uint64_t>(a) << static_cast<unsigned>(b));
  if (shifted >> b != a) return {};
  return shifted;
}
NumberResult shifted_right(Int a, Int b) {
  if (b < 0) return {};
  return a >> std::min<Int>(b, 63);
}
NumberResult place(Int index, Int size) {
  const Int at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) return {};
  return at;
}
Int slice_bound(Int index, Int size) { return std::clamp(index < 0 ? index + size : index, Int{0}, size); }

NumberResult of_ints(NumberOp op, Int a, Int b) {
  switch (op) {
    case NumberOp::Add:
      return checked_add(a, b);
    case NumberOp::Sub:
      return checked_sub(a, b);
    case NumberOp::Mul:
      return checked_mul(a, b);
    case NumberOp::Div:
      return quotient(a, b);
    case NumberOp::FloorDiv:
      return floor_quotient(a, b);
    case NumberOp::Mod:
      return floor_rest(a, b);
    case NumberOp::Pow:
      return power(a, b);
    case NumberOp::And:
      return a & b;
    case NumberOp::Or:
      return a | b;
    case NumberOp::Xor:
      return a ^ b;
    case NumberOp::Invert:
      return ~a;
    case NumberOp::ShiftLeft:
      return shifted_left(a, b);
    case NumberOp::ShiftRight:
      return shifted_right(a, b);
    case NumberOp::Negate:
      return checked_sub(0, a);
    case NumberOp::Absolute:
      return a < 0 ? checked_sub(0, a) : a;
    case NumberOp::ToFloat:
      return static_cast<double>(a);
    case NumberOp::Index:
      return place(a, b);
    case NumberOp::SliceBound:
      return slice_bound(a, b);
    default:
      throw InternalError("ints are no operands of this op of numbers");
  }
}

// ---- Floats ----

NumberResult quotient(double a, double b) {
  if (b == 0) return {};
  return a / b;
}
double rest_of(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
// The remainder is exact, so the quotient is a whole number but for rounding (as CPython computes it).
NumberResult floor_quotient(double a, double b) {
  if (b == 0) return {};
  const double quotient = (a - rest_of(a, b)) / b;
  return std::floor(quotient) + (quotient - std::floor(quotient) > 0.5 ? 1 : 0);
}
NumberResult power(double a, double b) {
  if (a == 0 && b < 0) return {};
  return std::pow(a, b);
}
NumberResult toward_zero(double a) {
  if (!(a >= -0x1p63 && a < 0x1p63)) return {};
  return static_cast<Int>(a);
}

NumberResult of_floats(NumberOp op, double a, double b) {
  switch (op) {
    case NumberOp::Add:
      return a + b;
    case NumberOp::Sub:
      return a - b;
    case NumberOp::Mul:
      return a * b;
    case NumberOp::Div:
      return quotient(a, b);
    case NumberOp::FloorDiv:
      return floor_quotient(a, b);
    case NumberOp::Mod:
      if (b == 0) return {};
      return rest_of(a, b);
    case NumberOp::Pow:
      return power(a, b);
    case NumberOp::Negate:
      return -a;
    case NumberOp::Absolute:
      return std::fabs(a);
    case NumberOp::ToInt:
      return toward_zero(a);
    default:
      throw InternalError("floats are no operands of this op of numbers");
  }
}

// ---- Bools, and what is of any kind ----

NumberResult of_bools(NumberOp op, bool a, bool b) {
  switch (op) {
    case NumberOp::And:
      return a && b;
    case NumberOp::Or:
      return a || b;
    case NumberOp::Xor:
      return a != b;
    case NumberOp::Not:
      return !a;
    case NumberOp::ToInt:
      return Int{a};
    case NumberOp::ToFloat:
      return double{a ? 1.0 : 0.0};
    default:
      throw InternalError("bools are no operands of this op of numbers");
  }
}

// Of two numbers of one kind the first, unless the other one is less, or greater.
template <class T>
NumberResult compared(NumberOp op, T a, T b, bool& found) {
  found = true;
  switch (op) {
    case NumberOp::Minimum:
      return b < a ? b : a;
    case NumberOp::Maximum:
      return a < b ? b : a;
    case NumberOp::Equal:
      return a == b;
    case NumberOp::NotEqual:
      return a != b;
    case NumberOp::Less:
      return a < b;
    case NumberOp::LessEqual:
      return a <= b;
    case NumberOp::ToBool:
      return a != T{};
    default:
      found = false;
      return {};
  }
}

template <class T>
NumberResult of_kind(NumberOp op, T a, T b) {
  bool found = false;
  const NumberResult result = compared(op, a, b, found);
  if (found) return result;
  if constexpr (std::is_same_v<T, bool>) return of_bools(op, a, b);
  if constexpr (std::is_same_v<T, Int>) return of_ints(op, a, b);
  if constexpr (std::is_same_v<T, double>) return of_floats(op, a, b);
}

}  // namespace

std::optional<FlowNumber> compute(NumberOp op, std::span<const FlowNumber> operands) {
  if (op == NumberOp::Select) return std::get<bool>(operands[0]) ? operands[1] : operands[2];
  return std::visit(
      [&]<class T>(T a) { return of_kind<T>(op, a, operands.size() > 1 ? std::get<T>(operands[1]) : T{}); },
      operands[0]);
}

Tensor to_tensor(const FlowNumber& number) {
  return std::visit([](auto value) { return Tensor::number(value); }, number);
}

FlowNumber to_number(const Tensor& x) {
  if (x.dtype() == DType::Bool) return x.item_bool();
  if (is_float(x.dtype())) return x.item_float();
  return x.item_int();
}

}  // namespace kiln::jit
