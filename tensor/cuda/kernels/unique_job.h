// Owns what kernels that find distinct elements are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/sort_job.h"

namespace kiln::cuda {

// A key is a row of the job's keys, which are compared element by element.
struct RunsJob {
  OrderJob keys;
  const long long* order;  // of as many rows
  bool* starts;            // does this place of the order begin a run of equal keys?
};

// One step of a sort by merging: places in order within runs become places in order within pairs of runs.
struct MergeJob {
  OrderJob keys;
  Count run;
  const long long* from;
  long long* to;
};

struct NumbersJob {
  Count count;
  const long long* order;
  const long long* numbers;  // from 1 on, of the run that a place of the order is in
  long long* result;         // from 0 on, of the run that an element is in
};

struct LengthsJob {
  Count count, end;
  const long long* places;  // where runs begin, ascending
  long long* result;
};

struct SlicesJob {
  Count rows, length;
  const void* source;  // rows of this length
  const long long* places;
  void* result;  // those rows, in this order
};

}  // namespace kiln::cuda
