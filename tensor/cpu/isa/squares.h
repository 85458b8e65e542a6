// Owns transpositions of squares of vectors in registers. Included only by files that are compiled once per
// instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "tensor/cpu/isa/lanes.h"

namespace kiln::cpu::KILN_ISA {

// As many elements side by side as there are rows to spare at the edges.
inline constexpr int kSquareBytes = kVectorBytes < 32 ? kVectorBytes : 32;
typedef std::uint32_t Words __attribute__((vector_size(kSquareBytes)));
typedef std::uint64_t Doubles __attribute__((vector_size(kSquareBytes)));
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef std::uint16_t Shorts __attribute__((vector_size(16)));

template <class V>
inline constexpr int kElements = sizeof(V) / sizeof(std::declval<V>()[0]);

// Vectors are lanes of 128 bits, within which elements move in one instruction that takes one cycle, and
// which move as a whole in another; kLane elements of kSide are one.

// The lower or the upper halves of the lanes of two vectors, one element of each in turns.
template <int kSide, int kLane, int kUpper, class V, int... kAt>
[[gnu::always_inline]] inline V interleave(V a, V b, std::integer_sequence<int, kAt...>) {
  return __builtin_shufflevector(
      a, b, (kAt / kLane * kLane + kUpper * kLane / 2 + kAt % kLane / 2 + kAt % 2 * kSide)...);
}
// The lanes of two vectors at even or at odd places.
template <int kSide, int kLane, int kOdd, class V, int... kAt>
[[gnu::always_inline]] inline V every_other_lane(V a, V b, std::integer_sequence<int, kAt...>) {
  return __builtin_shufflevector(a, b,
                                 ((2 * (kAt / kLane) + kOdd) * kLane % kSide + kAt % kLane +
                                  (2 * (kAt / kLane) * kLane >= kSide ? kSide : 0))...);
}

// Interleaving the first half of some rows with the second moves each bit of an element's row and column by
// one place: as often as there are bits of a column, and they have changed places. Taking every other lane of
// neighbours moves them the other way. So elements change places within kLane rows first, then lanes with
// rows.

// The first of the two, of any multiple of kLane rows, of which each lane is a square of its own.
template <class V, int kRows>
[[gnu::always_inline]] inline void transpose_lanes(V (&row)[kRows]) {
  constexpr int kSide = kElements<V>, kLane = kSide * 16 / static_cast<int>(sizeof(V));
  constexpr std::make_integer_sequence<int, kSide> kAll;
#pragma GCC unroll 4
  for (int bit = 1; bit < kLane; bit *= 2) {
    V next[kRows];
#pragma GCC unroll 8
    for (int first = 0; first < kRows; first += kLane) {
#pragma GCC unroll 8
      for (int i = 0; i < kLane / 2; ++i) {
        const V a = row[first + i], b = row[first + i + kLane / 2];
        next[first + 2 * i] = interleave<kSide, kLane, 0>(a, b, kAll);
        next[first + 2 * i + 1] = interleave<kSide, kLane, 1>(a, b, kAll);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) row[i] = next[i];
  }
}
template <class V, int kSide>
[[gnu::always_inline]] inline void transpose_square(V (&row)[kSide]) {
  static_assert(kSide == kElements<V>);
  constexpr int kLane = kSide * 16 / static_cast<int>(sizeof(V)), kLanes = kSide / kLane;
  constexpr std::make_integer_sequence<int, kSide> kAll;
  transpose_lanes(row);
#pragma GCC unroll 4
  for (int bit = 1; bit < kLanes; bit *= 2) {
    V next[kSide];
#pragma GCC unroll 8
    for (int k = 0; k < kLane; ++k) {
#pragma GCC unroll 4
      for (int i = 0; i < kLanes / 2; ++i) {
        const V a = row[2 * i * kLane + k], b = row[(2 * i + 1) * kLane + k];
        next[i * kLane + k] = every_other_lane<kSide, kLane, 0>(a, b, kAll);
        next[(i + kLanes / 2) * kLane + k] = every_other_lane<kSide, kLane, 1>(a, b, kAll);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) row[i] = next[i];
  }
}

}  // namespace kiln::cpu::KILN_ISA
