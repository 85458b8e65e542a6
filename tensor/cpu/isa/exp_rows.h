// Owns the exponentials of a row less its maximum. Included only by files that are compiled once per
// instruction set.
#pragma once

#include <cstdint>

#include "tensor/math.h"

namespace kiln::cpu::KILN_ISA {

// y = e^(x - m), in the form for the range of normal results, and again when some are not: the same bits.
template <class A>
[[gnu::always_inline]] inline void exp_shifted(const A* __restrict x, A m, std::int64_t n, A* __restrict y) {
  using Bits = typename math::Format<A>::SignedBits;  // of values without a sign, in whose order they are
  Bits widest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const A shifted = x[i] - m;
    const Bits size = static_cast<Bits>(math::to_bits(math::abs(shifted)));
    widest = widest > size ? widest : size;
    y[i] = math::exp<true>(shifted);
  }
  if (widest <= static_cast<Bits>(math::to_bits(math::ExpConstants<A>::kRange))) return;
  for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i] - m);
}

}  // namespace kiln::cpu::KILN_ISA
