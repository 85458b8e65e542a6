// Owns the table of the steps between transforms of real numbers and those of half as many pairs, one for
// every instruction set.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// Z is the transform of the pairs (x_0, x_1), (x_2, x_3), …, `half` of them; E and O are those of the numbers
// at even and at odd places: Z_k = E_k + i O_k. That of x is X_k = E_k + r_k O_k with the roots r_k = e^(-pi
// i k / half), for k up to half / 2.
template <class T>
struct RealKernels {
  // Z becomes X, half + 1 pairs, those but the first and the last times 2 weight.
  void (*part)(T* line, const T* roots, std::int64_t half, T weight) = nullptr;
  // From X to twice Z, those but the first and the last times weight before.
  void (*join)(const T* pairs, T* line, const T* roots, std::int64_t half, T weight) = nullptr;
};
struct RealFourierTable {
  RealKernels<float> f32;
  RealKernels<double> f64;

  template <class T>
  const RealKernels<T>& of() const {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(RealFourierTable, real_fourier_table)
