// Owns kernels of running combinations in their fixed order (docs/reductions.md). Runs are gone through
// twice: what they come to tells what is before each, from which the elements are computed. What is combined
// is a type, as in folds.cuh.
#pragma once

#include "tensor/cuda/kernels/folds.cuh"
#include "tensor/cuda/kernels/scan_job.h"

namespace kiln::cuda {

inline constexpr int kRunsOfBlock = 32;

// ---- What is combined ----

template <class Combine, class Accumulator, class Mid, class Element>
struct RunningTotal {
  using Acc = Accumulator;
  using In = Element;
  KILN_MATH Acc identity() { return Combine::template identity<Acc>(); }
  KILN_MATH Acc of(In x, Count) { return accumulated<Acc, Mid>(x); }
  KILN_MATH Acc combine(Acc a, Acc b) { return Combine::combine(a, b); }
  KILN_MATH void store(const ScanJob& job, Count place, Acc x) {
    put<Mid>(job.result, place, scalar::convert<Mid>(x));
  }
};

// Of equals the later is taken, and of nans. The identity has no index.
template <bool kMax, class Wide, class Element>
struct RunningExtremum {
  using Acc = Placed<Wide>;
  using In = Element;
  KILN_MATH Acc identity() { return {Extremum<kMax>::template identity<Wide>(), -1}; }
  KILN_MATH Acc of(In x, Count index) { return {accumulated<Wide, In>(x), index}; }
  KILN_MATH Acc combine(Acc a, Acc b) {
    return b.index < 0 || (a.index >= 0 && is_better<kMax>(a.value, b.value)) ? a : b;
  }
  KILN_MATH void store(const ScanJob& job, Count place, Acc x) {
    put<In>(job.result, place, scalar::convert<In>(x.value));
    put<Count>(job.places, place, x.index);
  }
};

// ---- Runs ----

template <class F>
KILN_MATH typename F::Acc before_run(const ScanJob& job, Count row, Count run, Count column) {
  using Acc = typename F::Acc;
  Acc before = F::identity();
  if (job.blocks > 1)
    before =
        static_cast<const Acc*>(job.before)[(row * job.blocks + run / kRunsOfBlock) * job.inner + column];
  if (job.runs == 1) return before;
  return F::combine(before, static_cast<const Acc*>(job.within)[(row * job.runs + run) * job.inner + column]);
}

// Sequences that lie side by side: a thread has a run. `kWrites`: the elements, else what the run comes to.
template <class F, bool kWrites>
KILN_MATH void scan_columns(const ScanJob& job) {
  using Acc = typename F::Acc;
  const Count units = job.outer * job.runs * job.inner;
  const auto* const from = static_cast<const typename F::In*>(job.input);
  for (Count unit = first_thread(); unit < units; unit += all_threads()) {
    const Count column = unit % job.inner, run = unit / job.inner % job.runs;
    const Count row = unit / job.inner / job.runs;
    const Count first = run * job.run, end = job.length < first + job.run ? job.length : first + job.run;
    [[maybe_unused]] Acc before = F::identity();
    if constexpr (kWrites) before = before_run<F>(job, row, run, column);
    Acc mine = F::identity();
    Count place = (row * job.length + first) * job.inner + column, i = first;
    const auto take = [&](typename F::In x) {
      mine = F::combine(mine, F::of(x, i));
      if constexpr (kWrites) F::store(job, place, F::combine(before, mine));
      ++i;
      place += job.inner;
    };
    while (i + kAtOnce <= end) {
      typename F::In elements[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) elements[k] = from[place + k * job.inner];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) take(elements[k]);
    }
    while (i < end) take(from[place]);
    if constexpr (!kWrites) static_cast<Acc*>(job.within)[unit] = mine;
  }
}

// Sequences along memory: a warp has 32 runs, which come through shared memory a piece of each at a time, so
// that lanes that read and write are next to each other in memory.
template <class F, bool kWrites>
KILN_MATH void scan_rows(const ScanJob& job) {
  using Acc = typename F::Acc;
  constexpr int kPiece = sizeof(Acc) > 8 ? 8 : 16, kWarps = kThreads / kLanes;
  __shared__ Acc pieces[kWarps][kLanes][kPiece + 1];
  __shared__ Count starts[kWarps][kLanes], indices[kWarps][kLanes], counts[kWarps][kLanes];
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const auto* const from = static_cast<const typename F::In*>(job.input);
  const Count all_runs = job.outer * job.runs;
  const Count longest = job.length < job.run ? job.length : job.run;
  for (Count begin = first_thread() / kLanes * kLanes; begin < all_runs; begin += all_threads()) {
    const Count own = begin + lane, row = own / job.runs, run = own - row * job.runs;
    const Count rest = job.length - run * job.run;
    const Count count = own >= all_runs ? 0 : rest < job.run ? rest : job.run;
    starts[warp][lane] = row * job.length + run * job.run;
    indices[warp][lane] = run * job.run;
    counts[warp][lane] = count;
    [[maybe_unused]] Acc before = F::identity();
    if constexpr (kWrites)
      if (count > 0) before = before_run<F>(job, row, run, 0);
    Acc mine = F::identity();
    __syncwarp();
    for (Count at = 0; at < longest; at += kPiece) {
#pragma unroll
      for (int k = 0; k < kPiece; ++k) {
        const int of = (k * kLanes + lane) / kPiece, i = lane % kPiece;
        if (at + i >= counts[warp][of]) continue;
        pieces[warp][of][i] = F::of(from[starts[warp][of] + at + i], indices[warp][of] + at + i);
      }
      __syncwarp();
      for (int i = 0; i < kPiece && at + i < count; ++i) {
        mine = F::combine(mine, pieces[warp][lane][i]);
        if constexpr (kWrites) pieces[warp][lane][i] = F::combine(before, mine);
      }
      __syncwarp();
      if constexpr (kWrites) {
#pragma unroll
        for (int k = 0; k < kPiece; ++k) {
          const int of = (k * kLanes + lane) / kPiece, i = lane % kPiece;
          if (at + i < counts[warp][of]) F::store(job, starts[warp][of] + at + i, pieces[warp][of][i]);
        }
        __syncwarp();
      }
    }
    if constexpr (!kWrites)
      if (count > 0) static_cast<Acc*>(job.within)[own] = mine;
    __syncwarp();
  }
}

// ---- What is before them ----

// Of `count` places each gets what those before it come to, in turn. Gives what all come to.
template <class F>
KILN_MATH typename F::Acc scan_places(typename F::Acc* place, Count step, Count count) {
  using Acc = typename F::Acc;
  Acc total = F::identity();
  Count i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce, place += kAtOnce * step) {
    Acc mine[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) mine[k] = place[k * step];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      place[k * step] = total;
      total = F::combine(total, mine[k]);
    }
  }
  for (; i < count; ++i, place += step) {
    const Acc mine = *place;
    *place = total;
    total = F::combine(total, mine);
  }
  return total;
}

// The runs of each block; `before` gets what the block comes to.
template <class F>
KILN_MATH void scan_within_blocks(const ScanJob& job) {
  using Acc = typename F::Acc;
  const Count units = job.outer * job.blocks * job.inner;
  for (Count unit = first_thread(); unit < units; unit += all_threads()) {
    const Count column = unit % job.inner, block = unit / job.inner % job.blocks;
    const Count row = unit / job.inner / job.blocks;
    const Count first = block * kRunsOfBlock, left = job.runs - first;
    Acc* const place = static_cast<Acc*>(job.within) + (row * job.runs + first) * job.inner + column;
    const Acc total = scan_places<F>(place, job.inner, left < kRunsOfBlock ? left : kRunsOfBlock);
    if (job.blocks > 1) static_cast<Acc*>(job.before)[unit] = total;
  }
}

// The blocks of each sequence.
template <class F>
KILN_MATH void scan_blocks(const ScanJob& job) {
  using Acc = typename F::Acc;
  const Count units = job.outer * job.inner;
  for (Count unit = first_thread(); unit < units; unit += all_threads()) {
    const Count row = unit / job.inner, column = unit - row * job.inner;
    scan_places<F>(static_cast<Acc*>(job.before) + row * job.blocks * job.inner + column, job.inner,
                   job.blocks);
  }
}

}  // namespace kiln::cuda
