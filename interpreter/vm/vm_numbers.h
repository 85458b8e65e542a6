// Owns arithmetic on plain numbers as the dispatch loop does it: in line, with all else left to the caller.
#pragma once

#include <cstdint>

#include "interpreter/values/value.h"

namespace kiln::interp {

inline bool both(const Value& a, const Value& b, Tag tag) {
  return (unsigned{a.is(tag)} & unsigned{b.is(tag)}) != 0;
}

// An operator on numbers: ints, true when the result does not fit; floats.
struct AddNumbers {
  static bool overflows(std::int64_t a, std::int64_t b, std::int64_t* sum) {
    return __builtin_add_overflow(a, b, sum);
  }
  static double of(double a, double b) { return a + b; }
};
struct SubNumbers {
  static bool overflows(std::int64_t a, std::int64_t b, std::int64_t* difference) {
    return __builtin_sub_overflow(a, b, difference);
  }
  static double of(double a, double b) { return a - b; }
};
struct MulNumbers {
  static bool overflows(std::int64_t a, std::int64_t b, std::int64_t* product) {
    return __builtin_mul_overflow(a, b, product);
  }
  static double of(double a, double b) { return a * b; }
};

// False, with nothing done, for values other than ints and floats, and for ints that overflow.
template <class Numbers>
[[gnu::always_inline]] inline bool arithmetic(const Value& x, const Value& y, Value& target) {
  if (x.is(Tag::Int)) {
    if (y.is(Tag::Int)) {
      std::int64_t result;
      if (Numbers::overflows(x.as_int(), y.as_int(), &result)) [[unlikely]]
        return false;
      target.put(result);
      return true;
    }
    if (!y.is(Tag::Float)) return false;
    target.put(Numbers::of(static_cast<double>(x.as_int()), y.as_float()));
    return true;
  }
  if (!x.is(Tag::Float)) return false;
  if (y.is(Tag::Float)) {
    target.put(Numbers::of(x.as_float(), y.as_float()));
    return true;
  }
  if (!y.is(Tag::Int)) return false;
  target.put(Numbers::of(x.as_float(), static_cast<double>(y.as_int())));
  return true;
}
template <class Numbers>
[[gnu::always_inline]] inline bool arithmetic_number(const Value& x, std::int16_t number, Value& target) {
  if (x.is(Tag::Int)) {
    std::int64_t result;
    if (Numbers::overflows(x.as_int(), number, &result)) [[unlikely]]
      return false;
    target.put(result);
    return true;
  }
  if (!x.is(Tag::Float)) return false;
  target.put(Numbers::of(x.as_float(), number));
  return true;
}

// The quotient of two numbers that are not both ints.
[[gnu::always_inline]] inline bool divide(const Value& x, const Value& y, Value& target) {
  if (both(x, y, Tag::Float)) {
    if (y.as_float() == 0) [[unlikely]]
      return false;
    target.put(x.as_float() / y.as_float());
    return true;
  }
  if (!x.is(Tag::Float) || !y.is(Tag::Int) || y.as_int() == 0) return false;
  target.put(x.as_float() / static_cast<double>(y.as_int()));
  return true;
}

struct Division {
  std::int64_t quotient, rest;
};
// Rounded down, by a positive divisor. Short numbers divide several times as fast as long ones.
inline Division floor_divide(std::int64_t x, std::int64_t y) {
  if ((static_cast<std::uint64_t>(x | y) >> 32U) == 0) [[likely]] {
    const auto a = static_cast<std::uint32_t>(x);
    const auto b = static_cast<std::uint32_t>(y);
    return {std::int64_t{a / b}, std::int64_t{a % b}};
  }
  const std::int64_t rest = x % y;
  return rest < 0 ? Division{x / y - 1, rest + y} : Division{x / y, rest};
}

}  // namespace kiln::interp
