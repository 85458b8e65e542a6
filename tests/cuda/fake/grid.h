// Owns running a grid of a kernel: the order of blocks, shared memory, faults.
#pragma once

#include "tests/cuda/fake/call.h"

namespace kiln::fake {

// Runs it to its end, or until a block fails; one grid at a time in the process.
Failure run_grid(const Call& call);

}  // namespace kiln::fake
