// Owns transpositions of squares of vectors in registers. Included only by files that are compiled once per
// instruction set.
#pragma once

#include <cstdint>

namespace kiln::cpu::KILN_ISA {

typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint64_t Doubles __attribute__((vector_size(32)));

// Pairs of rows exchange neighbours, then pairs, then halves.
inline void transpose_square(Words (&row)[8]) {
  Words a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      b[i + k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      b[i + k + 2] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int k = 0; k < 4; ++k) {
    row[k] = __builtin_shufflevector(b[k], b[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    row[k + 4] = __builtin_shufflevector(b[k], b[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
inline void transpose_square(Doubles (&row)[4]) {
  Doubles a[4];
  for (int i = 0; i < 4; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 4, 2, 6);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 1, 5, 3, 7);
  }
  for (int k = 0; k < 2; ++k) {
    row[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 4, 5);
    row[k + 2] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 6, 7);
  }
}

}  // namespace kiln::cpu::KILN_ISA
