// Owns folding rows whose elements lie together. Included only by files that are compiled once per
// instruction set.
#pragma once

#include <algorithm>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// `rows` rows of `size` elements as they lie, `step` apart: few, which kVectors vectors hold, or any number.
template <class C, class T, int kVectors, class P, class Out>
void fold_dense_few(P from, std::int64_t size, std::int64_t step, std::int64_t rows, Out* to) {
  constexpr std::int64_t kWidth = Lanes<C, T>::kWidth;
  if constexpr (kVectors < std::min(4, Lanes<C, T>::kCount)) {
    if (size > kVectors * kWidth) return fold_dense_few<C, T, kVectors + 1>(from, size, step, rows, to);
  }
  const std::int64_t last = size - (kVectors - 1) * kWidth;
  const auto fold_all = [&](auto some) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto lanes = Lanes<C, T>::template fold_few<kVectors>(from + row * step, some);
      to[row] = static_cast<Out>(Lanes<C, T>::fold_vector(lanes));
    }
  };
  if (last == kWidth) {
    fold_all(std::integral_constant<std::int64_t, kWidth>());
  } else {
    fold_all(last);
  }
}
template <class C, class T, class P, class Out>
void fold_dense(P from, std::int64_t size, std::int64_t step, std::int64_t rows, Out* to) {
  if constexpr (sizeof(T) < 4) {
    // A vector of them would hold several short rows: as wider elements fewer lanes are left to fold.
    constexpr std::int64_t kShort = 64;
    if (size <= kShort) return fold_dense<C, std::int32_t>(from, size, step, rows, to);
  } else {
    constexpr std::int64_t kFew = std::min(4, Lanes<C, T>::kCount) * Lanes<C, T>::kWidth;
    if (size <= kFew) return fold_dense_few<C, T, 1>(from, size, step, rows, to);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    Lanes<C, T> lanes;
    lanes.add(from + row * step, size);
    to[row] = static_cast<Out>(lanes.result());
  }
}

}  // namespace kiln::cpu::KILN_ISA
