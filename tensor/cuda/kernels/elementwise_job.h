// Owns what kernels of elementwise rows, copies and fills are given. For the host and for cards: no standard
// headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"
#include "tensor/pointwise_params.h"

namespace kiln::cuda {

inline constexpr int kMostOperands = 3;
inline constexpr int kVectorBytes = 16;  // that a thread reads or writes at once

struct ElementwiseJob {
  Count count;                   // of vectors
  Count rest;                    // elements behind them, fewer than a vector has; then there is one axis
  Axes<kMostOperands + 1> axes;  // along the vectors: of the operands, then of the result
  const void* operands[kMostOperands];
  void* result;
  unsigned long long numbers[kMostOperands];  // operands that are numbers, as bits
  unsigned repeated;                          // bit k: of operand k one element goes for all of a vector
  Params params;
  // Where an element may be refused: what that is told by, and a word on the card that is set.
  unsigned long long* fault;
  unsigned long long launch;
  unsigned* refused;
  const unsigned* unless;  // nothing is done where this word is set
};

// A copy between layouts of which memory runs along different axes.
struct TransposeJob {
  Count rows, columns;  // columns are neighbours in the result, rows in the source
  Count row_stride;     // in the result
  Count column_stride;  // in the source
  Count across, tiles;  // tiles along the columns; all of them
  Axes<2> outer;        // the other axes: of the source and of the result
  const void* source;
  void* result;
};

}  // namespace kiln::cuda
