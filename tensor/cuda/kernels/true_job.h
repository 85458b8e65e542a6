// Owns what kernels are given that look for elements that are true. For the host and for cards: no standard
// headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

inline constexpr int kTrueBlock = 4096;  // elements that a warp goes through

// Flags one after the other.
struct TrueJob {
  Count count, blocks;
  const bool* flags;
  Count* before;  // true ones before each block, and in all; of the kernel that counts: in each block
  // What is written of each true element: its place, or its index along some dimensions.
  Axes<1> axes;
  Count inner;  // elements of the dimensions behind those of the axes
  Count width;  // columns of the result
  Count* result;
};

// How often each row is repeated.
struct RepeatJob {
  Count count, rows;
  const Count* ends;  // where the repetitions of each row end
  Count* result;
};

}  // namespace kiln::cuda
