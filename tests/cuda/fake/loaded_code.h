// Owns what checks of kernels know of a library of theirs that is loaded.
#pragma once

#include <string>
#include <vector>

#include "tensor/cuda/api_types.h"

namespace kiln::fake {

// Addresses that belong together, and what they are.
struct MemoryRange {
  cuda::Address begin = 0, end = 0;
  std::string name;
};

struct LoadedCode {
  cuda::Address begin = 0;             // of the library
  std::string lines;                   // its section .debug_line
  std::vector<MemoryRange> constants;  // what is not written
  std::vector<MemoryRange> shared;     // variables that are __shared__, in order
};

}  // namespace kiln::fake
