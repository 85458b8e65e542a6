// Owns sums over the threads of a block in their order.
#pragma once

#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

inline constexpr int kThreads = 256;  // of a block
inline constexpr int kWarps = kThreads / kLanes;

// What the lanes up to this one have together.
KILN_MATH unsigned sum_to_lane(unsigned mine) {
  const int lane = threadIdx.x % kLanes;
  unsigned sum = mine;
  for (int by = 1; by < kLanes; by *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, sum, by);
    if (lane >= by) sum += other;
  }
  return sum;
}

// What the threads before this one have together. All threads of the block come.
KILN_MATH unsigned sum_before(unsigned mine, unsigned (&sums)[kWarps]) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned sum = sum_to_lane(mine);
  if (lane == kLanes - 1) sums[warp] = sum;
  __syncthreads();
  unsigned before = sum - mine;
  for (int w = 0; w < warp; ++w) before += sums[w];
  __syncthreads();
  return before;
}

}  // namespace kiln::cuda
