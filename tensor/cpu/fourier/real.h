// Owns Fourier transforms of real lines, and back to such.
#pragma once

#include <cstdint>

#include "tensor/cpu/fourier/plan.h"

namespace kiln::cpu {

// `count` dense lines of n real numbers, and the n / 2 + 1 pairs (real, imaginary) of each.
template <class T>
struct RealLines {
  std::int64_t n, count;
  T factor;
  bool is_weighted;  // frequencies that stand for their mirror images, too: doubled, or halved before
};

// On all threads. Throw OpError (Interrupted, OutOfMemory).
template <class T>
void transform_real(const RealLines<T>& lines, const T* from, T* pairs);
template <class T>
void transform_to_real(const RealLines<T>& lines, const T* pairs, T* to);

}  // namespace kiln::cpu
