// Owns the one order in which elements are combined by every reduction, eager or compiled
// (docs/reductions.md).
//
// For one output the reduced elements, row-major over the reduced dimensions, are a sequence e[0], e[1], …
//   1. The sequence is cut into blocks of kBlock elements.
//   2. In a block, lane j (0 <= j < kLanes) starts at the identity and takes elements j, j + kLanes, … in
//   turn.
//   3. Lanes fold in halves: lane j takes lane j + 16 for j < 16, then j + 8 for j < 8, then 4, 2, 1.
//   4. Block results combine in pairs: (0, 1), (2, 3), …, an odd last one goes up as it is; again until one
//   is left.
// No step depends on layout, threads or instruction set, so neither do the bits of the result. Lanes that got
// no element hold the identity, which changes no reachable value: they may be left out.
#pragma once

#include <cstdint>

#include "tensor/integers.h"

namespace kiln {
namespace cpu {

enum class Combine : std::uint8_t { Sum, Prod, Max, Min };
inline constexpr int kCombineCount = 4;

}  // namespace cpu

inline constexpr int kReductionLanes = 32;
inline constexpr std::int64_t kReductionBlock = 4096;  // a multiple of the lanes

// Running sums and products go through runs of so many elements, of which a block is made.
inline constexpr std::int64_t kScanRun = 128;

inline std::int64_t reduction_blocks(std::int64_t count) { return ceil_divide(count, kReductionBlock); }

}  // namespace kiln
