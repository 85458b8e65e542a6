// Owns running Fourier transforms over lines.
#pragma once

#include <cstdint>

#include "tensor/cpu/fourier/plan.h"

namespace kiln::cpu {

// `count` lines of pairs (real, imaginary) of the plan's length; from one to the next `step` elements of T.
// Results may be written over what they are made of.
template <class T>
struct FourierLines {
  const T* from;
  std::int64_t step;
  T* to;
  std::int64_t to_step;
  std::int64_t count;
};

// y_k = factor * sum of x_j e^(-2 pi i jk / n); `inverse` has the other sign. On all threads: over lines, and
// within a line where there are fewer lines than threads. Throws OpError (Interrupted, OutOfMemory).
template <class T>
void transform(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool inverse, T factor);

}  // namespace kiln::cpu
