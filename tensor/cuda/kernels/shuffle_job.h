// Owns what kernels that shuffle are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/draw_job.h"

namespace kiln::cuda {

// A step is named by its own place, the greater one earlier: it swaps what is there with what is at a place
// that was drawn, which is not behind.
struct ShuffleJob {
  DrawJob draw;  // seed and offset
  Count count;
  Count round;   // from 1 on
  Count rounds;  // before one block does the rest
  Count* items;
  unsigned long long*
      claims;    // of each place: the last round in which steps wanted it, and the first of them
  Count* steps;  // that are left, in any order
  Count* next_steps;
  unsigned long long* left;  // [rounds + 1]: how many before each round
};

inline constexpr int kStepBits = 40;

}  // namespace kiln::cuda
