// Owns what kernels share that are printed from loop nests and read operands that lie transposed to their
// results: tiles of these go through shared memory, so that reads and writes are of neighbours.
#pragma once

#include "tensor/cuda/kernels/nest.cuh"
#include "tensor/cuda/kernels/tile_job.h"

namespace kiln::cuda {

inline constexpr int kTileSide = 32;
inline constexpr int kTileStep = 8;  // rows that a block of threads has at once

// One column more than a tile has keeps its columns in different banks.
using TileSlot = unsigned long long[kTileSide * (kTileSide + 1)];

struct TilePlace {
  Count row, column, element;  // of the first one, and its number among all
};
KILN_MATH TilePlace tile_place(const TileJob& job, Count tile) {
  const Count plane = tile / (job.down * job.across), in_plane = tile - plane * (job.down * job.across);
  const Count down = in_plane / job.across;
  const Count row = down * kTileSide, column = (in_plane - down * job.across) * kTileSide;
  return {row, column, (plane * job.rows + row) * job.columns + column};
}

// `corner`: where the first element is. `strides`: along columns and along rows.
template <class T>
KILN_MATH void fill_tile(TileSlot (&slots)[kTileSlots], const TileJob& job, int load, const void* data,
                         Count corner, const Count* strides, const TilePlace& place) {
  const int x = threadIdx.x % kTileSide;
  for (int slot = 0; slot < kTileSlots; ++slot) {
    if (job.of_slot[slot] != load) continue;
    T* const tile = reinterpret_cast<T*>(slots[slot]);
    for (int y = threadIdx.x / kTileSide; y < kTileSide; y += kTileStep) {
      if (place.row + x < job.rows && place.column + y < job.columns)
        tile[y * (kTileSide + 1) + x] = element<T>(data, corner + x * strides[1] + y * strides[0]);
    }
  }
}

template <class T>
KILN_MATH T tile_element(const TileSlot (&slots)[kTileSlots], const TileJob& job, int load, int x, int y,
                         const void* data, Count place) {
  for (int slot = 0; slot < kTileSlots; ++slot)
    if (job.of_slot[slot] == load) return reinterpret_cast<const T*>(slots[slot])[x * (kTileSide + 1) + y];
  return element<T>(data, place);
}

}  // namespace kiln::cuda
