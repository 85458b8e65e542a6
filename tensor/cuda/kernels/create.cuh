// Owns kernels that compute elements of contiguous results from their index.
#pragma once

#include "tensor/cuda/kernels/create_job.h"
#include "tensor/cuda/kernels/nest.cuh"

namespace kiln::cuda {

// An index by the size of the last dimension. Division is much faster in 32 bits.
struct RowAndColumn {
  Count row, column;
};
KILN_MATH RowAndColumn split_index(Count count, Count index, Count columns) {
  if (count <= 0x7fffffff) {
    const auto i = static_cast<unsigned>(index), by = static_cast<unsigned>(columns);
    return {static_cast<Count>(i / by), static_cast<Count>(i % by)};
  }
  return {index / columns, index % columns};
}

template <class Out, class Range>
KILN_MATH void fill_range(const RangeJob<Range>& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads())
    put(job.result, i, scalar::convert<Out>(element_at(job.range, i)));
}

template <class Out>
KILN_MATH void fill_eye(const EyeJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    const RowAndColumn at = split_index(job.count, i, job.columns);
    put(job.result, i, scalar::convert<Out>(at.row == at.column ? 1 : 0));
  }
}

// Elements as they are, whatever they mean: zeros have no bits.
template <class Bits, bool kLower>
KILN_MATH void keep_triangle(const TriangleJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    const RowAndColumn at = split_index(job.count, i, job.columns);
    const Count edge = split_index(job.count, at.row, job.rows).column + job.diagonal;
    Bits kept = 0;
    if (kLower ? at.column <= edge : at.column >= edge) {
      Count place[1];
      places_at(job.axes, job.count, i, place);
      kept = element<Bits>(job.source, place[0]);
    }
    put(job.result, i, kept);
  }
}

template <class Index>
KILN_MATH void fill_one_hot(const OneHotJob& job) {
  for (Count i = first_thread(); i < job.count; i += all_threads()) {
    const RowAndColumn at = split_index(job.count, i, job.columns);
    const Count wanted = scalar::convert<Count>(scalar::widen(element<Index>(job.index, at.row)));
    if (job.classes > 0) put(job.result, i, static_cast<Count>(wanted == at.column ? 1 : 0));
    if (at.column == 0 && (wanted < 0 || wanted >= job.classes))
      atomicMin_system(job.fault, job.launch << 40 | static_cast<unsigned long long>(at.row));
  }
}

}  // namespace kiln::cuda
