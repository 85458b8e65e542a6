// Owns what kernels of running combinations are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

// Elements lie as [outer, length, inner], contiguous; combined along the middle.
struct ScanJob {
  Count outer, length, inner;
  Count run;           // elements of a run
  Count runs, blocks;  // of a sequence
  const void* input;
  void* result;
  void* places;  // or none
  void* within;  // accumulators [outer, runs, inner]: what runs come to, then what is before them in their
                 // block
  void* before;  // accumulators [outer, blocks, inner]: what blocks come to, then what is before them
};

}  // namespace kiln::cuda
