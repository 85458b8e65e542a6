// Owns the fixed order (docs/reductions.md) above the vectors of a kernel: where lanes start, how they fold,
// and the tree over blocks.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "jit/llvm/kernel_code.h"
#include "jit/loops/loops.h"

namespace kiln::jit {

// An accumulator: f32, f64 or i64, at the front.
using Slot = std::array<std::byte, kSlotBytes>;
struct alignas(64) Lanes {
  std::byte bytes[kLanesBytes];
};

struct LaneOps {
  void (*start)(Lanes& lanes);
  Slot (*fold)(Lanes& lanes);            // halves onto each other, in their memory
  Slot (*tree)(std::span<Slot> blocks);  // likewise pairs of neighbours
  // Of columns: `count` rows of `width` accumulators, `stride` of them apart, combine into the first one: as
  // lanes, or as blocks.
  void (*start_rows)(std::byte* rows, std::int64_t width);
  void (*fold_rows)(std::byte* rows, std::int64_t count, std::int64_t stride, std::int64_t width);
  void (*tree_rows)(std::byte* rows, std::int64_t count, std::int64_t stride, std::int64_t width);
};
const LaneOps& lane_ops(const Reduction& reduction);

}  // namespace kiln::jit
