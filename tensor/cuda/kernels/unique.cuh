// Owns kernels that find distinct keys: rows of elements are put in order by merging, runs of equal ones are
// marked, numbered and counted.
#pragma once

#include "tensor/cuda/kernels/sort.cuh"
#include "tensor/cuda/kernels/unique_job.h"

namespace kiln::cuda {

// Below 0: row `a` of the keys comes before row `b`; 0: both are alike, all nans among them.
template <class K>
KILN_MATH int compare_rows(const OrderJob& keys, Count a, Count b) {
  for (Count i = 0; i < keys.length; ++i) {
    const typename K::Word left = K::read(keys, a * keys.length + i);
    const typename K::Word right = K::read(keys, b * keys.length + i);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

// nan equals nothing, so that a row with one is equal to none.
template <class K>
KILN_MATH bool has_nan(const OrderJob& keys, Count row) {
  for (Count i = 0; i < keys.length; ++i)
    if (K::is_nan(keys, row * keys.length + i)) return true;
  return false;
}

template <class K>
KILN_MATH void mark_starts(const RunsJob& job) {
  for (Count i = first_thread(); i < job.keys.rows; i += all_threads())
    job.starts[i] = i == 0 || compare_rows<K>(job.keys, job.order[i - 1], job.order[i]) != 0 ||
                    has_nan<K>(job.keys, job.order[i]);
}

// Each place goes behind those of the run beside its own that come before it; of equal rows those of the
// first run do.
template <class K>
KILN_MATH void merge_runs(const MergeJob& job) {
  const Count rows = job.keys.rows;
  for (Count i = first_thread(); i < rows; i += all_threads()) {
    const Count run = i / job.run, pair = run / 2 * 2 * job.run;
    const bool is_first = run % 2 == 0;
    const Count beside = is_first ? pair + job.run : pair;
    const Count end = beside + job.run < rows ? beside + job.run : rows;
    Count low = beside, left = end > beside ? end - beside : 0;
    while (left > 0) {
      const Count half = left / 2;
      const int order = compare_rows<K>(job.keys, job.from[low + half], job.from[i]);
      const bool is_before = is_first ? order < 0 : order <= 0;
      low = is_before ? low + half + 1 : low;
      left = is_before ? left - half - 1 : half;
    }
    job.to[i - run * job.run + pair + low - beside] = job.from[i];
  }
}

KILN_MATH void number_elements(const NumbersJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads())
    job.result[job.order[i]] = job.numbers[i] - 1;
}

KILN_MATH void find_lengths(const LengthsJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads())
    job.result[i] = (i + 1 < job.count ? job.places[i + 1] : job.end) - job.places[i];
}

template <class Bits>
KILN_MATH void take_slices(const SlicesJob& job) {
  const Count elements = job.rows * job.length;
  for (Count i = first_thread(); i < elements; i += all_threads()) {
    const Count row = i / job.length, along = i - row * job.length;
    put(job.result, i, element<Bits>(job.source, job.places[row] * job.length + along));
  }
}

}  // namespace kiln::cuda
