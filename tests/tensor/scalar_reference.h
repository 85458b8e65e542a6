// Owns an independent answer for every elementwise op: the C library in long double, and exact integers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kiln::testing {

using Real = std::function<long double(long double a, long double b, long double c)>;
// Small integers, before they wrap to their dtype.
using Whole = std::function<std::int64_t(std::int64_t a, std::int64_t b, std::int64_t c)>;

struct ScalarReference {
  std::string_view op;
  Real real;           // null: not defined for floats
  Whole whole;         // null: integers become floats, or are not allowed
  double ulp = 0.5;    // the stated bound; 0.5 is correctly rounded
  double ulp_f64 = 0;  // where another bound is stated for f64
};

// Null for an op without one.
const ScalarReference* scalar_reference(std::string_view op);

}  // namespace kiln::testing
