// Owns what kernels that draw by weights are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/draw_job.h"

namespace kiln::cuda {

struct ChooseJob {
  DrawJob draw;  // seed, offset and fault
  Count rows, classes, samples;
  const double* weights;  // [rows, classes]
  double* totals;         // with replacement [rows, classes]: running totals of the weights
  Count* last;            // with replacement [rows]: the last class that has a weight
  double* sums;           // without replacement [rows, 2 leaves]: a binary tree of sums over the weights
  Count leaves;           // a power of two
  Count* result;          // [rows, samples]
};

}  // namespace kiln::cuda
