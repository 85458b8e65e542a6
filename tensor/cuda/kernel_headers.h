// Owns the headers that kernels on cards include, as text: NVRTC reads no files.
#pragma once

#include <cstddef>

namespace kiln::cuda {

struct KernelHeader {
  const char* name;  // as it is included
  const char* text;
};
extern const KernelHeader kKernelHeaders[];
extern const std::size_t kKernelHeaderCount;

}  // namespace kiln::cuda
