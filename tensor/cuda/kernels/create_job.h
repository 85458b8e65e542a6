// Owns what kernels are given that compute elements from their index. For the host and for cards: no standard
// headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"
#include "tensor/ranges.h"

namespace kiln::cuda {

template <class Range>
struct RangeJob {
  Count count;
  Range range;
  void* result;
};

// A matrix with ones on its diagonal.
struct EyeJob {
  Count count, columns;
  void* result;
};

// Matrices with zeros on one side of a diagonal.
struct TriangleJob {
  Count count, rows, columns;
  Count diagonal;
  Axes<1> axes;  // of the source
  const void* source;
  void* result;
};

// A row of classes for each index.
struct OneHotJob {
  Count count, columns;  // without classes there is one column, which is not written
  Count classes;
  const void* index;
  void* result;
  // What an index is told by that is no class; it tells the place.
  unsigned long long* fault;
  unsigned long long launch;
};

}  // namespace kiln::cuda
