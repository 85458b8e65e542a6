// Owns the kernel of copies between layouts of which memory runs along different axes: tiles go through
// shared memory, so that reads and writes are of neighbours.
#pragma once

#include "tensor/cuda/kernels/elementwise_job.h"
#include "tensor/cuda/kernels/nest.cuh"

namespace kiln::cuda {

inline constexpr int kTile = 32;
inline constexpr int kTileRows = 8;  // that a block of threads has at once

// `Bits` has the size of a `From`. One column more than a tile has keeps its columns in different banks.
template <class Bits, class From, class To>
KILN_MATH void transpose_tiles(const TransposeJob& job) {
  __shared__ Bits tile[kTile][kTile + 1];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const Count of_plane = job.across * ((job.rows + kTile - 1) / kTile);
  for (Count i = blockIdx.x; i < job.tiles; i += gridDim.x) {
    const Count plane = i / of_plane, in_plane = i % of_plane;
    const Count row = in_plane / job.across * kTile, column = in_plane % job.across * kTile;
    Count start[2];
    places_at(job.outer, job.tiles / of_plane, plane, start);
    for (int k = y; k < kTile; k += kTileRows) {
      if (row + x < job.rows && column + k < job.columns)
        tile[k][x] = element<Bits>(job.source, start[0] + (column + k) * job.column_stride + row + x);
    }
    __syncthreads();
    for (int k = y; k < kTile; k += kTileRows) {
      if (row + k < job.rows && column + x < job.columns) {
        const From from = __builtin_bit_cast(From, tile[x][k]);
        put(job.result, start[1] + (row + k) * job.row_stride + column + x,
            scalar::convert<To>(scalar::widen(from)));
      }
    }
    __syncthreads();  // before the tile is written again
  }
}

}  // namespace kiln::cuda
