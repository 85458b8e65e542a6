// Owns loop unrolling: whether a loop that is compiled by iterations gets an entry for several of them.
#pragma once

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

struct UnrollLimits {
  std::int64_t after = 1000;  // so many compiled iterations, a longer graph is worth compiling
  // Iterations of the first unrolled entry, and of a second one for the rest, made after as many runs again.
  int most = 16;
  int fewest = 4;
};
// The limits of the process; tests set smaller ones.
UnrollLimits& unroll_limits();

// How many iterations an unrolled entry beside `entry`, which fits at the frame's place, should hold; 1: none
// is to be made, or not yet.
int iterations_worth_unrolling(const Entry& entry, const Frame& frame);
// Will an unrolled entry be made when `entry` has run often enough?
bool may_be_unrolled(const Entry& entry, const Frame& frame);

}  // namespace kiln::interp::capture
