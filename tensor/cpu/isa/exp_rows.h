// Owns the exponentials of elements less the greatest of them. Included only by files that are compiled once
// per instruction set.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {

// Differences from a finite maximum are 0 or less; from another one, some are no numbers.
template <class A>
[[gnu::always_inline]] inline bool is_finite(A m) {
  return math::abs(m) <= math::Format<A>::kMax;
}

// y = e^(x - m), where m is the greatest of all x.
template <class A>
[[gnu::always_inline]] inline void exp_shifted(const A* __restrict x, A m, std::int64_t n, A* __restrict y) {
  if (is_finite(m)) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp<true>(x[i] - m);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - m);
  }
}

}  // namespace kiln::cpu::KILN_ISA
