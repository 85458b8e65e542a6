// Owns how kernels that are printed from loop nests go through elements that lie transposed to each other.
// For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

// Loads that go through shared memory, so many at most.
inline constexpr int kTileSlots = 2;

// Tiles of the last two axes: neighbours along columns are neighbours where results are stored, those along
// rows in the operands that go through shared memory.
struct TileJob {
  Count rows, columns;
  Count down, across;         // tiles along rows and along columns
  Count tiles;                // in all
  Count of_slot[kTileSlots];  // the number of the load; -1: none
};

}  // namespace kiln::cuda
