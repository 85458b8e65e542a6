// Owns what kernels share that are printed from loop nests and reduce down the columns: which part of the
// work a thread has, and how lanes fold in the fixed order (docs/reductions.md).
#pragma once

#include "tensor/cuda/kernels/column_job.h"
#include "tensor/cuda/kernels/nest.cuh"

namespace kiln::cuda {

inline constexpr int kColumnThreads = 256;  // of a block

struct ColumnThread {
  int x, y;           // in its team: the column of the tile, and the first lane
  int team;           // in its block
  Count first, step;  // units of the block's first team, from turn to turn
};
KILN_MATH ColumnThread column_thread(const ColumnJob& job) {
  const int across = static_cast<int>(job.across), size = across * static_cast<int>(job.down);
  const int thread = static_cast<int>(threadIdx.x), teams = kColumnThreads / size;
  return {thread % across, thread % size / across, thread / size, blockIdx.x * static_cast<Count>(teams),
          gridDim.x * static_cast<Count>(teams)};
}

// What a thread has of a unit.
struct ColumnUnit {
  bool is_there;   // not beyond the row's end, nor after the last unit
  Count column;    // of the row
  Count row, end;  // of the block, among all rows; none where it is not there
  Count output;    // the result's place among all
  Count block;     // of the sequence
};
KILN_MATH ColumnUnit column_unit(const ColumnJob& job, Count length, Count unit, int x) {
  const Count rest = unit / job.tiles, sequence = rest / job.blocks;
  ColumnUnit mine{};
  mine.column = (unit - rest * job.tiles) * job.across + x;
  mine.is_there = unit < job.units && mine.column < length;
  mine.block = rest - sequence * job.blocks;
  mine.output = sequence * length + mine.column;
  const Count first = mine.block * kBlock, last = first + kBlock;
  mine.row = sequence * job.sequence + first;
  mine.end = mine.is_there ? sequence * job.sequence + (job.sequence < last ? job.sequence : last) : mine.row;
  return mine;
}

// The lanes that a thread goes through, one after the other, so that those which fold come in pairs.
KILN_MATH Count lane_of(const ColumnJob& job, int y, int turn) {
  return y + job.down * (turn % 2 * (job.each / 2) + turn / 2);
}

// Those of a thread, as they fold in halves.
template <class Combine, class T>
struct LaneTotals {
  T all, pair;
  __device__ __forceinline__ void take(int turn, T total) {
    if (turn == 0)
      all = total;
    else if (turn == 1)
      all = Combine::combine(all, total);
    else if (turn == 2)
      pair = total;
    else
      all = Combine::combine(all, Combine::combine(pair, total));
  }
};

// Of all threads with the same column: those with y = 0 get the result. `shared` has a place for each thread.
template <class Combine, class T>
KILN_MATH T fold_down(T mine, void* shared, const ColumnJob& job, int y) {
  T* const totals = static_cast<T*>(shared);
  const int across = static_cast<int>(job.across);
  totals[threadIdx.x] = mine;
  __syncthreads();
  for (int half = static_cast<int>(job.down) / 2; half > 0; half /= 2) {
    if (y < half) {
      mine = Combine::combine(mine, totals[threadIdx.x + half * across]);
      totals[threadIdx.x] = mine;
    }
    __syncthreads();
  }
  return mine;  // the last barrier is before `shared` is written again
}

}  // namespace kiln::cuda
