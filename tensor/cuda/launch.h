// Owns giving a kernel to the stream of a card.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

inline constexpr unsigned kThreadsOfBlock = 256;

// Kernels go through their work in strides of the whole grid, so that there may be less threads than work.
struct Launch {
  FunctionHandle function = nullptr;
  std::int64_t threads = 0;   // that have something to do; none: nothing is launched
  unsigned shared_bytes = 0;  // of dynamic shared memory of a block
};

// The arguments are read before this returns. Throws OpError (Device).
void run(Context& context, const Launch& launch, std::span<void* const> arguments);

}  // namespace kiln::cuda
