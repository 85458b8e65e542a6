// Owns kernels that put elements where indices say. What has one target is a run of the order that targets
// are given in, and has one thread for each column.
#pragma once

#include "tensor/cuda/kernels/scatter_job.h"
#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

inline constexpr int kAhead = 4;  // elements that are read before the first of them is combined

// One column of what has one place in the order.
struct ScatterUnit {
  Count rank;            // in the order
  Count result, source;  // places of the column
};
KILN_MATH ScatterUnit scatter_unit(const ScatterJob& job, Count unit) {
  Count rank = unit, column = 0;
  if (job.columns > 1 && job.count * job.columns <= 0x7fffffff) {
    rank = static_cast<unsigned>(unit) / static_cast<unsigned>(job.columns);
    column = unit - rank * job.columns;
  } else if (job.columns > 1) {
    rank = unit / job.columns;
    column = unit - rank * job.columns;
  }
  Count places[2];
  places_at(job.axes, job.columns, column, places);
  return {rank, places[0], places[1]};
}

KILN_MATH Count at_rank(const ScatterJob& job, Count rank) {
  return job.order == nullptr ? rank : job.order[rank];
}
// Is what has this rank of the same target? Without an order all have targets of their own.
KILN_MATH bool has_target(const ScatterJob& job, Count rank, Count target) {
  return job.order != nullptr && rank >= 0 && rank < job.count && job.targets[job.order[rank]] == target;
}

template <class T>
KILN_MATH T* target_of(const ScatterJob& job, Count target) {
  return reinterpret_cast<T*>(static_cast<char*>(job.result) + target * job.target_bytes);
}

// Of several for one target the last stays.
template <class Word>
KILN_MATH void write_last(const ScatterJob& job) {
  if (job.unless != nullptr && *job.unless != 0) return;
  for (Count i = first_thread(); i < job.count * job.columns; i += all_threads()) {
    const ScatterUnit unit = scatter_unit(job, i);
    const Count from = at_rank(job, unit.rank), target = job.targets[from];
    if (has_target(job, unit.rank + 1, target)) continue;
    target_of<Word>(job, target)[unit.result] = element<Word>(job.source, from * job.step + unit.source);
  }
}

// Of several for one target each meets what those before it made.
template <class T, Put kPut>
KILN_MATH void combine_runs(const ScatterJob& job) {
  if (job.unless != nullptr && *job.unless != 0) return;
  for (Count i = first_thread(); i < job.count * job.columns; i += all_threads()) {
    const ScatterUnit unit = scatter_unit(job, i);
    const Count target = job.targets[at_rank(job, unit.rank)];
    if (has_target(job, unit.rank - 1, target)) continue;
    T* const to = target_of<T>(job, target) + unit.result;
    T made = *to;
    int found = kAhead;
    for (Count rank = unit.rank; found == kAhead; rank += kAhead) {
      T read[kAhead];
      found = 0;
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (k != 0 || rank != unit.rank) {
          if (!has_target(job, rank + k, target)) continue;
        }
        read[k] = element<T>(job.source, at_rank(job, rank + k) * job.step + unit.source);
        found = k + 1;
      }
      for (int k = 0; k < found; ++k) made = combined<kPut>(made, read[k]);
    }
    *to = made;
  }
}

}  // namespace kiln::cuda
