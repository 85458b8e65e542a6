// Owns kernels of reductions in the fixed order (docs/reductions.md): along rows, down columns, and of what
// blocks gave. What is combined is a type: it has accumulators, an identity, how an element becomes one, how
// two are combined, and how one becomes a result.
#pragma once

#include "tensor/cuda/kernels/fold_job.h"
#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

inline constexpr int kThreads = 256;  // of a block

// ---- What is combined ----

// An element as an accumulator, by way of the dtype that it is converted to before.
template <class Acc, class Mid, class In>
KILN_MATH Acc accumulated(In x) {
  if constexpr (scalar::kIsSame<In, Mid>)
    return scalar::convert<Acc>(scalar::widen(x));
  else
    return scalar::convert<Acc>(scalar::widen(scalar::convert<Mid>(scalar::widen(x))));
}

template <class Combine, class Accumulator, class Mid, class Element, class Out>
struct Total {
  using Acc = Accumulator;
  using In = Element;
  KILN_MATH Acc identity() { return Combine::template identity<Acc>(); }
  KILN_MATH Acc of(In x, Count) { return accumulated<Acc, Mid>(x); }
  KILN_MATH Acc combine(Acc a, Acc b) { return Combine::combine(a, b); }
  KILN_MATH void store(const FoldJob& job, Count place, Acc x) {
    put<Out>(job.result, place, scalar::convert<Out>(x));
  }
};

// An element and where in its sequence it is.
template <class T>
struct Placed {
  T value;
  Count index;
};
template <class T>
KILN_MATH Placed<T> shifted(Placed<T> mine, int by, int group) {
  return {shifted(mine.value, by, group), shifted(mine.index, by, group)};
}

// nan before all others, and zeros are equal whatever their sign.
template <bool kMax, class T>
KILN_MATH bool is_better(T a, T b) {
  if (a != a) return b == b;
  return kMax ? a > b : a < b;
}

// The first one of those that nothing is better than.
template <bool kMax, class Wide, class Element>
struct FirstExtremum {
  using Acc = Placed<Wide>;
  using In = Element;
  KILN_MATH Acc identity() {
    return {Extremum<kMax>::template identity<Wide>(), static_cast<Count>(~(1ULL << 63))};
  }
  KILN_MATH Acc of(In x, Count index) { return {accumulated<Wide, In>(x), index}; }
  KILN_MATH Acc combine(Acc a, Acc b) {
    if (is_better<kMax>(b.value, a.value)) return b;
    return b.index < a.index && !is_better<kMax>(a.value, b.value) ? b : a;
  }
  KILN_MATH void store(const FoldJob& job, Count place, Acc x) {
    if (job.result != nullptr) put<In>(job.result, place, scalar::convert<In>(x.value));
    put<Count>(job.places, place, x.index);
  }
};

// ---- Shared by the walks ----

// Where an output is: in the input and in the results.
KILN_MATH void output_places(const FoldJob& job, Count output, Count (&places)[2]) {
  places_at(job.outer, job.outputs, output, places);
}
KILN_MATH Count sequence_place(const FoldJob& job, Count index) {
  Count places[1];
  places_at(job.inner, job.length, index, places);
  return places[0];
}

struct BlockRange {
  Count first, end;
};
KILN_MATH BlockRange range_of_block(const FoldJob& job, Count block) {
  const Count first = block * kBlock;
  return {first, job.length < first + kBlock ? job.length : first + kBlock};
}

// What a block gave: a result where it is the only one.
template <class F>
KILN_MATH void store_block(const FoldJob& job, Count output, Count block, Count result,
                           typename F::Acc total) {
  if (job.blocks == 1)
    F::store(job, result, total);
  else
    static_cast<typename F::Acc*>(job.parts)[output * job.blocks + block] = total;
}

// ---- Rows: a group of lanes has a block of a sequence ----

// Elements are asked for several at a time, and combined in their order.
inline constexpr int kAtOnce = 8;

template <class F>
KILN_MATH typename F::Acc fold_lane(const FoldJob& job, const typename F::In* from, BlockRange range,
                                    int lane) {
  typename F::Acc total = F::identity();
  Count i = range.first + lane;
  if (job.inner.rank == 1) {
    const Count stride = job.inner.strides[0][0];
    for (; i + (kAtOnce - 1) * kLanes < range.end; i += kAtOnce * kLanes) {
      typename F::In elements[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) elements[k] = from[(i + k * kLanes) * stride];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) total = F::combine(total, F::of(elements[k], i + k * kLanes));
    }
  }
  for (; i < range.end; i += kLanes) total = F::combine(total, F::of(from[sequence_place(job, i)], i));
  return total;
}

// Sequences that are shorter than a warp share one: a group has as many lanes as they may need.
template <class F>
KILN_MATH void fold_rows(const FoldJob& job) {
  const int group = static_cast<int>(job.group);
  const int lane = threadIdx.x % group;
  const Count units = job.outputs * job.blocks;
  const Count step = all_threads() / group;
  // All lanes of a warp go on as long as its first one does.
  for (Count begin = first_thread() / kLanes * (kLanes / group); begin < units; begin += step) {
    const Count unit = begin + threadIdx.x % kLanes / group;
    const Count output = job.blocks == 1 ? unit : unit / job.blocks, block = unit - output * job.blocks;
    Count places[2];
    typename F::Acc total = F::identity();
    if (unit < units) {
      output_places(job, output, places);
      total = fold_lane<F>(job, static_cast<const typename F::In*>(job.input) + places[0],
                           range_of_block(job, block), lane);
    }
    total = fold<F>(total, group);
    if (lane == 0 && unit < units) store_block<F>(job, output, block, places[1], total);
  }
}

// ---- Columns: neighbouring outputs lie next to each other ----

// The lanes `first`, first + kStep, … of a block of a sequence.
template <class F, int kStep, int kEach>
KILN_MATH void fold_lanes(const FoldJob& job, const typename F::In* from, BlockRange range, int first,
                          typename F::Acc (&lanes)[kEach]) {
  Count i = range.first + first;
  if (job.inner.rank == 1) {
    const Count stride = job.inner.strides[0][0];
    for (; i + (kEach - 1) * kStep < range.end; i += kLanes) {
      typename F::In elements[kEach];
#pragma unroll
      for (int k = 0; k < kEach; ++k) elements[k] = from[(i + k * kStep) * stride];
#pragma unroll
      for (int k = 0; k < kEach; ++k) lanes[k] = F::combine(lanes[k], F::of(elements[k], i + k * kStep));
    }
  }
  for (; i < range.end; i += kLanes) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const Count at = i + k * kStep;
      if (at < range.end) lanes[k] = F::combine(lanes[k], F::of(from[sequence_place(job, at)], at));
    }
  }
}

// A block of threads has kAcross outputs side by side. A thread has several lanes of one of them.
template <class F, int kAcross>
KILN_MATH void fold_columns(const FoldJob& job) {
  using Acc = typename F::Acc;
  constexpr int kDown = kThreads / kAcross, kEach = kLanes / kDown;
  __shared__ Acc shared[kDown][kAcross];
  const int x = threadIdx.x % kAcross, y = threadIdx.x / kAcross;
  const Count columns = job.outer.sizes[0], tiles = (columns + kAcross - 1) / kAcross;
  const Count units = job.outputs / columns * job.blocks * tiles;
  for (Count unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Count column = unit % tiles * kAcross + x, block = unit / tiles % job.blocks;
    const Count output = unit / tiles / job.blocks * columns + column;
    Count places[2];
    Acc lanes[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) lanes[k] = F::identity();
    if (column < columns) {
      output_places(job, output, places);
      const auto* const from = static_cast<const typename F::In*>(job.input) + places[0];
      fold_lanes<F, kDown>(job, from, range_of_block(job, block), y, lanes);
    }
#pragma unroll
    for (int half = kEach / 2; half > 0; half /= 2) {
#pragma unroll
      for (int k = 0; k < half; ++k) lanes[k] = F::combine(lanes[k], lanes[k + half]);
    }
    shared[y][x] = lanes[0];
    __syncthreads();
    for (int half = kDown / 2; half > 0; half /= 2) {
      if (y < half) shared[y][x] = F::combine(shared[y][x], shared[y + half][x]);
      __syncthreads();
    }
    if (y == 0 && column < columns) store_block<F>(job, output, block, places[1], shared[0][x]);
  }
}

// ---- What blocks gave: pairs of neighbours ----

// A lane has kEach neighbours of a sequence and a group of lanes those next to each other, so that a group
// gives one. There may be so many that its results are combined by another launch. What is missing at the end
// is the identity, which changes nothing.
template <class F, int kEach>
KILN_MATH void fold_parts(const FoldJob& job) {
  using Acc = typename F::Acc;
  const int group = static_cast<int>(job.group);
  const int lane = threadIdx.x % group;
  const Count whole = static_cast<Count>(group) * kEach, chunks = (job.blocks + whole - 1) / whole;
  const Count units = job.outputs * chunks, step = all_threads() / group;
  for (Count begin = first_thread() / kLanes * (kLanes / group); begin < units; begin += step) {
    const Count unit = begin + threadIdx.x % kLanes / group;
    const Count output = unit / chunks, chunk = unit - output * chunks;
    const Count first = chunk * whole + lane * kEach;
    Acc parts[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const bool is_there = unit < units && first + k < job.blocks;
      parts[k] =
          is_there ? static_cast<const Acc*>(job.parts)[output * job.blocks + first + k] : F::identity();
    }
#pragma unroll
    for (int by = 1; by < kEach; by *= 2) {
#pragma unroll
      for (int k = 0; k < kEach; k += 2 * by) parts[k] = F::combine(parts[k], parts[k + by]);
    }
    Acc total = parts[0];
    for (int by = 1; by < group; by *= 2) total = F::combine(total, shifted(total, by, group));
    if (lane != 0 || unit >= units) continue;
    if (job.fewer != nullptr) {
      static_cast<Acc*>(job.fewer)[unit] = total;
    } else {
      Count places[2];
      output_places(job, output, places);
      F::store(job, places[1], total);
    }
  }
}

}  // namespace kiln::cuda
