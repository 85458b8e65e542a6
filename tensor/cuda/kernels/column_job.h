// Owns how kernels that are printed from loop nests share out reductions down the columns. For the host and
// for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

inline constexpr int kMostLanesOfThread = 4;

// Rows are `sequence` after `sequence`; each of these is reduced to one row. A team of threads has a tile of
// columns and a block of rows of the fixed order. All numbers of threads are powers of two.
struct ColumnJob {
  Count sequence;
  Count blocks;  // of a sequence
  Count tiles;   // of a row
  Count units;   // of work, each for a team: tiles of blocks of sequences
  Count across;  // threads of a team, side by side, each with a column of the tile,
  Count down;    // and how many of them share the lanes of a column
  Count each;    // lanes of a thread
};

}  // namespace kiln::cuda
