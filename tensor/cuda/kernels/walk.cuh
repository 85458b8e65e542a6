// Owns what all kernels share: where the elements of their operands are, and the fixed order of reductions
// (docs/reductions.md) in a warp.
#pragma once

#include "tensor/convert.h"
#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

inline constexpr int kLanes = 32;    // of a warp, and of a block of a reduction
inline constexpr int kBlock = 4096;  // elements of a block of a reduction
inline constexpr unsigned kAllLanes = 0xffffffffU;

// Steps from an operand's first element to the one at `index`.
template <class Index, int kOperands>
KILN_MATH void find_places(const Axes<kOperands>& axes, Index index, Count (&places)[kOperands]) {
  for (int k = 0; k < kOperands; ++k) places[k] = 0;
#pragma unroll 1
  for (int d = 0; d < axes.rank; ++d) {
    const Index rest = d + 1 < axes.rank ? index / static_cast<Index>(axes.sizes[d]) : 0;
    const Count along = static_cast<Count>(index - rest * static_cast<Index>(axes.sizes[d]));
    for (int k = 0; k < kOperands; ++k) places[k] += along * axes.strides[k][d];
    index = rest;
  }
}
// Division is much faster in 32 bits.
template <int kOperands>
KILN_MATH void places_at(const Axes<kOperands>& axes, Count count, Count index, Count (&places)[kOperands]) {
  if (axes.rank == 1) {
    for (int k = 0; k < kOperands; ++k) places[k] = index * axes.strides[k][0];
  } else if (count <= 0x7fffffff) {
    find_places<unsigned>(axes, static_cast<unsigned>(index), places);
  } else {
    find_places<unsigned long long>(axes, static_cast<unsigned long long>(index), places);
  }
}

KILN_MATH Count first_thread() { return blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; }
KILN_MATH Count all_threads() { return gridDim.x * static_cast<Count>(blockDim.x); }

template <class T>
KILN_MATH T element(const void* data, Count place) {
  return static_cast<const T*>(data)[place];
}
template <class T>
KILN_MATH void put(void* data, Count place, T value) {
  static_cast<T*>(data)[place] = value;
}

// ---- Reductions ----

struct SumOf {
  template <class T>
  KILN_MATH T identity() {
    return T(0);
  }
  template <class T>
  KILN_MATH T combine(T a, T b) {
    if constexpr (math::kIsFloating<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
  }
};
struct ProdOf {
  template <class T>
  KILN_MATH T identity() {
    return T(1);
  }
  template <class T>
  KILN_MATH T combine(T a, T b) {
    if constexpr (math::kIsFloating<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
  }
};
// The first nan stays, and of equals the last one.
template <bool kMax>
struct Extremum {
  template <class T>
  KILN_MATH T identity() {
    if constexpr (math::kIsFloating<T>)
      return kMax ? -math::Format<T>::kInf : math::Format<T>::kInf;
    else
      return kMax ? static_cast<T>(1ULL << 63) : static_cast<T>(~(1ULL << 63));
  }
  template <class T>
  KILN_MATH T combine(T a, T b) {
    const bool wins = kMax ? a > b : a < b;
    return wins || a != a ? a : b;
  }
};
using MaxOf = Extremum<true>;
using MinOf = Extremum<false>;

// What the lane `by` further on in its group of lanes has.
template <class T>
KILN_MATH T shifted(T mine, int by, int group) {
  return __shfl_down_sync(kAllLanes, mine, by, group);
}

// The lanes of each group fold in halves, and its first lane has the result. Those beyond what there is to
// combine hold the identity.
template <class Combine, class T>
KILN_MATH T fold(T mine, int group = kLanes) {
  for (int half = group / 2; half > 0; half /= 2) mine = Combine::combine(mine, shifted(mine, half, group));
  return mine;
}

template <class T>
KILN_MATH T from_first_lane(T mine) {
  return __shfl_sync(kAllLanes, mine, 0);
}

// The results of blocks, one after the other, in pairs of neighbours: those of as many blocks wait for each
// other.
template <class Combine, class T>
struct Tree {
  static constexpr int kDeepest = 48;  // 2^48 blocks
  T parts[kDeepest];
  int depth = 0;
  Count blocks = 0;

  __device__ __forceinline__ void add(T part) {
    for (Count n = blocks; (n & 1) != 0; n >>= 1) part = Combine::combine(parts[--depth], part);
    parts[depth++] = part;
    ++blocks;
  }
  __device__ __forceinline__ T result() {
    T all = parts[--depth];
    while (depth > 0) all = Combine::combine(parts[--depth], all);
    return all;
  }
};

}  // namespace kiln::cuda
