// Owns running a grid of a kernel: the order of blocks, shared memory, faults.
#pragma once

#include <cstddef>

#include "tests/cuda/fake/block.h"

namespace kiln::fake {

// Runs it to its end, or until a block fails; one grid at a time in the process.
Failure run_grid(const Call& call, std::size_t dynamic_bytes);

}  // namespace kiln::fake
