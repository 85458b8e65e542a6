// Owns kernels of pools: a thread has a window, or of the adjoint an element with all its windows. Sums are
// in the CPU's order.
#pragma once

#include "tensor/cuda/kernels/pool_job.h"
#include "tensor/cuda/kernels/walk.cuh"

namespace kiln::cuda {

// An element of planes with so many rows and columns.
struct PlanePlace {
  Count plane, row, column;
};
KILN_MATH PlanePlace plane_place(Count index, Count rows, Count columns) {
  const Count line = index / columns, plane = line / rows;
  return {plane, line - plane * rows, index - line * columns};
}

KILN_MATH Count divisor_of(const PoolJob& job, const Window& row, const Window& column) {
  return job.divisor != 0 ? job.divisor : row.weight * column.weight;
}

// The first of the greatest, or the last nan.
template <class T>
KILN_MATH void max_windows(const PoolJob& job) {
  const Count width = job.columns.size, windows = job.planes * job.rows.count * job.columns.count;
  for (Count unit = first_thread(); unit < windows; unit += all_threads()) {
    const PlanePlace at = plane_place(unit, job.rows.count, job.columns.count);
    const T* const x = static_cast<const T*>(job.input) + at.plane * job.rows.size * width;
    const Window rows = window_at(job.rows, at.row), columns = window_at(job.columns, at.column);
    Count place = rows.begin * width + columns.begin;
    auto most = scalar::widen(x[place]);
    for (Count r = rows.begin; r < rows.end; r += job.rows.dilation) {
      for (Count c = columns.begin; c < columns.end; c += job.columns.dilation) {
        const auto value = scalar::widen(x[r * width + c]);
        const bool larger = value > most || value != value;
        most = larger ? value : most;
        place = larger ? r * width + c : place;
      }
    }
    put<T>(job.result, unit, x[place]);
    put<Count>(job.places, unit, place);
  }
}

template <class T, class Wide>
KILN_MATH void average_windows(const PoolJob& job) {
  const Count width = job.columns.size, windows = job.planes * job.rows.count * job.columns.count;
  for (Count unit = first_thread(); unit < windows; unit += all_threads()) {
    const PlanePlace at = plane_place(unit, job.rows.count, job.columns.count);
    const T* const x = static_cast<const T*>(job.input) + at.plane * job.rows.size * width;
    const Window rows = window_at(job.rows, at.row), columns = window_at(job.columns, at.column);
    Wide sum = 0;
    for (Count r = rows.begin; r < rows.end; ++r)
      for (Count c = columns.begin; c < columns.end; ++c)
        sum = SumOf::combine(sum, static_cast<Wide>(scalar::widen(x[r * width + c])));
    put<T>(job.result, unit, scalar::convert<T>(sum / static_cast<Wide>(divisor_of(job, rows, columns))));
  }
}

// Each element gets a share of all windows over it, in the order of the windows.
template <class T, class Wide>
KILN_MATH void spread_windows(const PoolJob& job) {
  const Count elements = job.planes * job.rows.size * job.columns.size;
  for (Count unit = first_thread(); unit < elements; unit += all_threads()) {
    const PlanePlace at = plane_place(unit, job.rows.size, job.columns.size);
    const T* const y = static_cast<const T*>(job.input) + at.plane * job.rows.count * job.columns.count;
    const WindowsOver rows = windows_over(job.rows, at.row), columns = windows_over(job.columns, at.column);
    Wide sum = 0;
    for (Count i = rows.first; i <= rows.last; ++i) {
      const Window row = window_at(job.rows, i);
      for (Count k = columns.first; k <= columns.last; ++k) {
        const Count count = divisor_of(job, row, window_at(job.columns, k));
        sum += static_cast<Wide>(scalar::widen(y[i * job.columns.count + k])) / static_cast<Wide>(count);
      }
    }
    put<T>(job.result, unit, scalar::convert<T>(sum));
  }
}

// ---- The adjoint of maxima -------------------------------------------------------------------------------

// Puts the sum of the elements of y with an index to it, in their order. A warp has part of the places of a
// plane and goes through all indices, of which it takes those that lead there. Of lanes that have the same
// one the first adds first. Elements before `begin` of the part are another's.
template <class T, class Wide, class Index>
KILN_MATH void add_at_places(const PlacesJob& job) {
  const int lane = threadIdx.x % kLanes;
  const Count units = job.planes * job.parts, span = (job.places + job.parts - 1) / job.parts;
  for (Count unit = first_thread() / kLanes; unit < units; unit += all_threads() / kLanes) {
    const Count plane = unit / job.parts, part = unit - plane * job.parts;
    const Count begin = part * span, end = job.places < begin + span ? job.places : begin + span;
    Wide* const sums = static_cast<Wide*>(job.sums) + plane * job.places;
    for (Count i = begin + lane; i < end; i += kLanes) sums[i] = 0;
    __syncwarp();
    for (Count chunk = 0; chunk < job.count; chunk += kLanes) {
      const Count i = plane * job.count + chunk + lane;
      const bool is_there = chunk + lane < job.count;
      const Count at = is_there ? static_cast<Count>(element<Index>(job.indices, i)) : -1;
      if (is_there && (at < 0 || at >= job.places))
        atomicMin_system(job.fault, job.launch << 40 | static_cast<unsigned long long>(i));
      const bool is_mine = at >= begin && at < end;
      const unsigned mine = __ballot_sync(kAllLanes, is_mine);
      if (mine == 0) continue;
      const unsigned same = __match_any_sync(kAllLanes, is_mine ? at : static_cast<Count>(-1));
      const int turn = is_mine ? __popc(same & ((1U << lane) - 1)) : -1;
      const Wide value = is_mine ? static_cast<Wide>(scalar::widen(element<T>(job.input, i))) : Wide(0);
      for (int k = 0; __any_sync(kAllLanes, turn >= k); ++k) {
        if (turn == k) sums[at] += value;
        __syncwarp();
      }
    }
    if constexpr (!scalar::kIsSame<T, Wide>) {
      for (Count i = begin + lane; i < end; i += kLanes)
        put<T>(job.result, plane * job.places + i, scalar::convert<T>(sums[i]));
    }
  }
}

}  // namespace kiln::cuda
