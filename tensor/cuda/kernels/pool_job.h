// Owns what kernels of pools are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"
#include "tensor/ops/windows.h"

namespace kiln::cuda {

// Planes of x and of the windows lie one after the other.
struct PoolJob {
  Count planes;
  WindowAxis rows, columns;
  Count divisor;  // of averages; 0: the places of the window
  const void* input;
  void* result;
  void* places;  // of maxima
};

// Of y [planes, count] with an index for each element, and of x [planes, places].
struct PlacesJob {
  Count planes, places, count;
  Count parts;  // of the places of a plane
  const void* input;
  const void* indices;
  void* sums;  // in which sums are made, [planes, places]
  void* result;
  unsigned long long* fault;  // the word that an index out of range lowers (tensor/cuda/faults.h)
  unsigned long long launch;
};

}  // namespace kiln::cuda
