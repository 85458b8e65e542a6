// Owns arithmetic of integers that the language has no operator for.
#pragma once

namespace kiln {

// a / b rounded up; of numbers that are not negative.
template <class T>
constexpr T ceil_divide(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace kiln
