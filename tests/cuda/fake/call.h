// Owns what a kernel is called with, and how that may fail.
#pragma once

#include <cstddef>
#include <string>

#include "tests/cuda/fake/loaded_code.h"
#include "tests/cuda/fake/shim/abi.h"

namespace kiln::fake {

struct Call {
  const KilnFakeLibrary* library = nullptr;
  const LoadedCode* code = nullptr;
  const KilnFakeKernel* kernel = nullptr;
  void* const* parameters = nullptr;
  KilnFakeIndex grid, block;
  std::size_t dynamic_bytes = 0;  // of shared memory that the launch gives
};

struct Failure {
  int error = 0;  // of the driver
  std::string text;
};

// The thread of a block by its number, and how an index is told.
inline KilnFakeIndex index_of(unsigned thread, KilnFakeIndex block) {
  return {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
}
inline std::string text_of(KilnFakeIndex index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

}  // namespace kiln::fake
