// Owns how compiled kernels are called: what the code that LLVM makes and the loops around it agree on.
#pragma once

#include <cstdint>

#include "jit/loops/loops.h"
#include "tensor/cpu/kernels.h"
#include "tensor/fixed_order.h"

namespace kiln::jit {

// Elements that a kernel works on at once. One 512-bit register of f32; LLVM takes other types and narrower
// registers apart.
inline constexpr std::int64_t kVector = 16;

// One call computes elements [0, count) of all stores. The last vector ends with the last element: where
// `count` is no multiple of kVector it overlaps the one before, and computes its elements again. Where there
// are reductions, which must not see an element twice, `count` is a multiple.
struct KernelCall {
  // The first element of each load, then of each store, then of the row that each column reduction is in.
  const void* const* places;
  // Of each load: ~0 when it goes on with the loop, 0 when one vector serves all turns. Of a hoisted load,
  // one element does.
  const std::int64_t* moves;
  const std::int64_t* numbers;  // values of sizes that are symbols
  const cpu::BlockKernel*
      called;          // by instruction: the eager kernels of those that are no straight-line code
  std::int64_t count;  // at least kVector
  // Of passes over a row:
  const void* reduced;  // results of earlier passes, kSlotBytes apart, as accumulators
  void* lanes;          // of this pass' reductions, kLanesBytes apart: those of the fixed order
  std::int64_t valid;   // how many elements of each vector count; of kVector but in the last, short one
  std::int64_t odd;     // 1 when the first vector belongs to the upper half of the lanes
  const void* start;    // lanes to take on from: `lanes`, or those without an element yet
  std::int64_t ahead;   // how many elements behind the present ones the prefetched ones are
  // Not 0: the stores marked as streaming do stream. Each vector is aligned to its own length, or to a cache
  // line where it is longer, and `count` is a multiple of kVector.
  std::int64_t streaming;
  std::int64_t hoists_loads;  // not 0: `moves` are as can_hoist_loads (jit/cpu/hoisted_loads.h) asks
};
// Bit k of the result: the k-th of the instructions that may fail met an element that it is not defined for.
using KernelFn = std::uint64_t (*)(const KernelCall*);
static_assert(kMostFailures == 64);
inline constexpr std::int64_t kSlotBytes = 8;
inline constexpr std::int64_t kLanesBytes = kReductionLanes * 8;
static_assert(kReductionLanes == 2 * kVector);

}  // namespace kiln::jit
