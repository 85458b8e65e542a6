// Owns what kernels that draw numbers are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

struct DrawJob {
  unsigned long long seed, offset;  // of the draw
  Count count;
  double a, b;               // of a distribution: bounds, or mean and deviation
  long long low;             // the least integer
  unsigned long long range;  // how many integers, or below which word an element is 1: at most 2^32
  const void* chances;       // one for each element
  void* result;
  unsigned long long*
      fault;  // the word that an element which is no probability lowers (tensor/cuda/faults.h)
  unsigned long long launch;
};

}  // namespace kiln::cuda
