// Owns what the kernels of collectives are given.
#pragma once

namespace kiln::cuda {

// The values of one rank after the other in `others`, but for those of rank `me`, which `own` has.
struct RankReduceJob {
  const void* own;
  const void* others;
  void* output;  // may be `own`
  long long count;
  int ranks, me;
};

struct RankScaleJob {
  const void* input;
  void* output;
  long long count;
  double factor;
};

struct RankFillJob {
  void* output;
  long long count;
  unsigned long long bits;  // of an element, the lowest first
};

}  // namespace kiln::cuda
