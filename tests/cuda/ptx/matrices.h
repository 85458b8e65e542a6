// Owns what lanes of a warp do with matrices of halves, for the C++ that translate.py makes of PTX: where the
// elements of a matrix are among the registers of the lanes. Source: NVIDIA's "Parallel Thread Execution
// ISA", matrix fragments for mma.m16n8k16.
#pragma once

#include "tensor/math/arithmetic.h"
#include "tests/cuda/fake/shim/warp.h"
#include "tests/cuda/ptx/runtime.h"

inline u64 of_lane(u64 mine, unsigned lane, int line) {
  return kiln_fake_together(kFakeShuffle, 0xffffffffU, mine, lane, line);
}

inline void load_matrices(u64 row, bool is_turned, u32 (&read)[4], int line) {
  const unsigned group = kiln_fake_lane() / 4, two = kiln_fake_lane() % 4 * 2;
  require_aligned(row, 16);
  for (unsigned k = 0; k < 4; ++k) {
    if (!is_turned) {
      read[k] = load<u32>(of_lane(row, 8 * k + group, line) + 2 * two);
    } else {
      const u64 first = of_lane(row, 8 * k + two, line), second = of_lane(row, 8 * k + two + 1, line);
      read[k] = load<u16>(first + 2 * group) | static_cast<u32>(load<u16>(second + 2 * group)) << 16;
    }
  }
}

inline f32 f16_of(u32 bits) { return kiln::math::half_to_float(bits); }
inline f32 bf16_of(u32 bits) { return kiln::math::bfloat16_to_float(bits); }
inline u32 rounded_to_f16x2(f32 high, f32 low) {
  return kiln::math::float_to_half(high) << 16 | kiln::math::float_to_half(low);
}
inline u32 rounded_to_bf16x2(f32 high, f32 low) {
  return kiln::math::float_to_bfloat16(high) << 16 | kiln::math::float_to_bfloat16(low);
}

// sums += left * right, [16, 16] and [16, 8]. Element (row, k) of the left matrix is the half k % 2 of the
// register row / 8 + k / 8 * 2 of lane row % 8 * 4 + k % 8 / 2, that of (k, column) of the right one the half
// k % 2 of register k / 8 of lane column * 4 + k % 8 / 2.
template <f32 (*kOf)(u32)>
void multiply_matrices(const u32 (&left)[4], const u32 (&right)[2], f32 (&sums)[4], int line) {
  const unsigned group = kiln_fake_lane() / 4, two = kiln_fake_lane() % 4 * 2;
  const u64 mine[] = {left[0] | static_cast<u64>(left[1]) << 32, left[2] | static_cast<u64>(left[3]) << 32};
  const u64 column = right[0] | static_cast<u64>(right[1]) << 32;
  const auto half = [](u64 registers, unsigned which, unsigned k) {
    return kOf(static_cast<u32>(registers >> (32 * which + 16 * (k % 2))) & 0xffffU);
  };
  for (unsigned k = 0; k < 16; k += 2) {
    const unsigned from = k % 8 / 2;
    const u64 rows = of_lane(mine[k / 8], 4 * group + from, line);
    const u64 columns[] = {of_lane(column, 4 * two + from, line),
                           of_lane(column, 4 * (two + 1) + from, line)};
    for (unsigned next = k; next < k + 2; ++next) {
      for (unsigned i = 0; i < 4; ++i)
        sums[i] = __builtin_fmaf(half(rows, i / 2, next), half(columns[i % 2], k / 8, next), sums[i]);
    }
  }
}
