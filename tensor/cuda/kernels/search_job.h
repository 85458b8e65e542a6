// Owns what kernels that search in sorted rows are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/sort_job.h"

namespace kiln::cuda {

// The sequence is the job's keys. As many values as `per_row` follow one another for each of its rows.
struct SearchJob {
  OrderJob sequence;
  OrderJob values;
  Count count, per_row;
  void* result;
};

}  // namespace kiln::cuda
