// Owns transpositions of squares of vectors in registers. Included only by files that are compiled once per
// instruction set.
#pragma once

#include <cstdint>
#include <utility>

namespace kiln::cpu::KILN_ISA {

typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint64_t Doubles __attribute__((vector_size(32)));
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef std::uint16_t Shorts __attribute__((vector_size(16)));

// Neighbouring rows are interleaved, then pairs of their elements, then halves: one instruction each.
inline void transpose_square(Words (&row)[8]) {
  Words a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      b[i + 2 * k] = __builtin_shufflevector(a[i + k], a[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      b[i + 2 * k + 1] = __builtin_shufflevector(a[i + k], a[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
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

// The lower or the upper halves of two vectors of kSide elements, one element of each in turns.
template <int kSide, int kFirst, class V, int... kAt>
[[gnu::always_inline]] inline V interleave(V a, V b, std::integer_sequence<int, kAt...>) {
  return __builtin_shufflevector(a, b, (kFirst + kAt / 2 + kAt % 2 * kSide)...);
}
// Interleaving the first half of the rows with the second moves each bit of an element's row and column by
// one place: as often as there are bits of a column, and they have changed places.
template <int kSide, class V>
[[gnu::always_inline]] inline void interleave_rows(V (&row)[kSide]) {
  constexpr std::make_integer_sequence<int, kSide> kAll;
#pragma GCC unroll 4
  for (int bit = 1; bit < kSide; bit *= 2) {
    V next[kSide];
#pragma GCC unroll 8
    for (int i = 0; i < kSide / 2; ++i) {
      next[2 * i] = interleave<kSide, 0>(row[i], row[i + kSide / 2], kAll);
      next[2 * i + 1] = interleave<kSide, kSide / 2>(row[i], row[i + kSide / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) row[i] = next[i];
  }
}
inline void transpose_square(Shorts (&row)[8]) { interleave_rows(row); }
inline void transpose_square(Bytes (&row)[16]) { interleave_rows(row); }

}  // namespace kiln::cpu::KILN_ISA
