// Owns arithmetic of integers that the language has no operator for.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kiln {

// a / b rounded up, b positive; 0 or less where a is not positive. Inlined always: a copy that was compiled
// for one instruction set must not be linked for all.
template <std::integral A, std::integral B>
[[gnu::always_inline]] constexpr std::common_type_t<A, B> ceil_divide(A a, B b) {
  return (a + b - 1) / b;
}
// The next multiple of b from a on.
template <std::integral A, std::integral B>
[[gnu::always_inline]] constexpr std::common_type_t<A, B> round_up(A a, B b) {
  return ceil_divide(a, b) * b;
}

// An id, a dimension or a place, none of which is negative, as the index of a container.
[[gnu::always_inline]] constexpr std::size_t as_index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace kiln
