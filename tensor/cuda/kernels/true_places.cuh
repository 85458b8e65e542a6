// Owns kernels that find which elements are true, in order: a warp has a block of them. The blocks are
// counted first, so that every warp knows where what it finds belongs.
#pragma once

#include "tensor/cuda/kernels/true_job.h"
#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

inline constexpr int kFlagsOfLane = 16;  // at once

// A bit for each of the flags of a word, which are 0 or 1.
KILN_MATH unsigned bits_of_word(unsigned word) {
  return (word & 1U) | (word >> 7 & 2U) | (word >> 14 & 4U) | (word >> 21 & 8U);
}
// A bit for each flag from `first` on.
KILN_MATH unsigned flag_bits(const TrueJob& job, Count first) {
  if (first >= job.count) return 0;
  const bool* const flags = job.flags + first;
  if (first + kFlagsOfLane <= job.count && reinterpret_cast<unsigned long long>(flags) % sizeof(uint4) == 0) {
    const uint4 words = *reinterpret_cast<const uint4*>(flags);
    return bits_of_word(words.x) | bits_of_word(words.y) << 4 | bits_of_word(words.z) << 8 |
           bits_of_word(words.w) << 12;
  }
  unsigned bits = 0;
  for (int i = 0; i < kFlagsOfLane && first + i < job.count; ++i) bits |= (flags[i] ? 1U : 0U) << i;
  return bits;
}

KILN_MATH void count_true(const TrueJob& job) {
  const int lane = threadIdx.x % kLanes;
  for (Count block = first_thread() / kLanes; block < job.blocks; block += all_threads() / kLanes) {
    Count found = 0;
    for (int i = lane * kFlagsOfLane; i < kTrueBlock; i += kLanes * kFlagsOfLane)
      found += __popc(flag_bits(job, block * kTrueBlock + i));
    found = fold<SumOf>(found);
    if (lane == 0) job.before[block + 1] = found;
  }
}

// Calls f(element, number) for every element that is true; it is the number-th of them.
template <class F>
KILN_MATH void each_true(const TrueJob& job, const F& f) {
  const int lane = threadIdx.x % kLanes;
  for (Count block = first_thread() / kLanes; block < job.blocks; block += all_threads() / kLanes) {
    Count number = job.before[block];
    for (int i = 0; i < kTrueBlock; i += kLanes * kFlagsOfLane) {
      const Count first = block * kTrueBlock + i + lane * kFlagsOfLane;
      unsigned bits = flag_bits(job, first);
      const int mine = __popc(bits);
      int until = mine;  // in this lane and those before it
      for (int by = 1; by < kLanes; by *= 2) {
        const int before = __shfl_up_sync(kAllLanes, until, by);
        if (lane >= by) until += before;
      }
      Count next = number + until - mine;
      for (; bits != 0; bits &= bits - 1) f(first + __ffs(static_cast<int>(bits)) - 1, next++);
      number += __shfl_sync(kAllLanes, until, kLanes - 1);
    }
  }
}

// By the strides of the axes.
KILN_MATH void put_true_places(const TrueJob& job) {
  each_true(job, [&job](Count element, Count number) {
    Count place[1];
    places_at(job.axes, job.count, element, place);
    job.result[number] = place[0];
  });
}

// A row for each, of which the axes are the last columns.
KILN_MATH void put_true_indices(const TrueJob& job) {
  each_true(job, [&job](Count element, Count number) {
    Count rest = element / job.inner;
    for (int d = 0; d < job.axes.rank; ++d) {
      const Count outer = rest / job.axes.sizes[d];
      job.result[number * job.width - d] = rest - outer * job.axes.sizes[d];
      rest = outer;
    }
  });
}

// The row that each element of the result is a repetition of.
KILN_MATH void put_repeated_rows(const RepeatJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    Count first = 0, last = job.rows - 1;
    while (first < last) {
      const Count middle = first + (last - first) / 2;
      if (job.ends[middle] > i)
        last = middle;
      else
        first = middle + 1;
    }
    job.result[i] = first;
  }
}

}  // namespace kiln::cuda
