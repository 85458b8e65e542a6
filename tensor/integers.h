// Owns arithmetic of integers that the language has no operator for.
#pragma once

#include <concepts>
#include <type_traits>

namespace kiln {

// a / b rounded up; of numbers that are not negative.
template <std::integral A, std::integral B>
constexpr std::common_type_t<A, B> ceil_divide(A a, B b) {
  return (a + b - 1) / b;
}

}  // namespace kiln
