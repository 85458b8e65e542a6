// Owns giving a kernel to the stream of a card.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "tensor/cuda/work.h"

namespace kiln::cuda {

// Kernels go through their work in strides of the whole grid, so that there may be less threads than work.
struct Launch {
  FunctionHandle function = nullptr;
  std::int64_t threads = 0;   // that have something to do; none: nothing is launched
  unsigned shared_bytes = 0;  // of dynamic shared memory of a block
  unsigned block = kThreadsOfBlock;
};

// The bytes of arguments are read before this returns. Throws OpError (Device).
void run(Context& context, const Launch& launch, std::span<const Argument> arguments);

// Arguments of the types that the kernel declares.
template <class... T>
  requires(std::is_trivially_copyable_v<T> && ...)
void run(Context& context, const Launch& launch, const T&... arguments) {
  const Argument all[] = {Argument{&arguments, sizeof(T)}...};
  run(context, launch, std::span<const Argument>(all));
}

}  // namespace kiln::cuda
