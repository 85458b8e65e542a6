// Owns the exact order of host numbers: an int and a float compare as real numbers, never through rounding.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "interpreter/values/value.h"

namespace kiln::interp {

inline std::partial_ordering compare_int_float(std::int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p63) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const auto whole = static_cast<std::int64_t>(b);
  if (a != whole) return a <=> whole;
  return 0.0 <=> (b - static_cast<double>(whole));
}

// Both are numbers (`Value::is_number`).
inline std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is(Tag::Float)) {
    if (b.is(Tag::Float)) return a.as_float() <=> b.as_float();
    return 0 <=> compare_int_float(b.as_int(), a.as_float());
  }
  if (b.is(Tag::Float)) return compare_int_float(a.as_int(), b.as_float());
  return a.as_int() <=> b.as_int();
}

}  // namespace kiln::interp
