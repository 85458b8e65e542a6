// Owns what kernels of reductions are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

struct FoldJob {
  Count outputs;
  Count length;   // of the sequence of each output
  Count blocks;   // of a sequence; of `fold_parts` what is left of them
  Count group;    // lanes that have one unit of the work
  Axes<2> outer;  // along the outputs: of the input and of the results
  Axes<1> inner;  // along a sequence
  const void* input;
  void* result;  // or none
  void* places;  // as above
  void* parts;   // accumulators [outputs, blocks]
  void* fewer;   // of `fold_parts` where their combinations go; none: to the results
};

}  // namespace kiln::cuda
