// Owns giving a kernel to the stream of a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "tensor/cuda/context.h"

namespace kiln::cuda {

inline constexpr unsigned kThreadsOfBlock = 256;

// Kernels go through their work in strides of the whole grid, so that there may be less threads than work.
struct Launch {
  FunctionHandle function = nullptr;
  std::int64_t threads = 0;   // that have something to do; none: nothing is launched
  unsigned shared_bytes = 0;  // of dynamic shared memory of a block
};

// The bytes of one argument of a kernel, which are read before `run` returns.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Throws OpError (Device).
void run(Context& context, const Launch& launch, std::span<const Argument> arguments);

// Arguments of the types that the kernel declares.
template <class... T>
  requires(std::is_trivially_copyable_v<T> && ...)
void run(Context& context, const Launch& launch, const T&... arguments) {
  const Argument all[] = {Argument{&arguments, sizeof(T)}...};
  run(context, launch, std::span<const Argument>(all));
}

}  // namespace kiln::cuda
