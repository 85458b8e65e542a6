// Owns the half-precision types as memory holds them. For the host, kernels of every instruction set, LLVM
// bitcode and NVRTC: no standard headers.
#pragma once

namespace kiln {

// IEEE binary16 and bfloat16. Arithmetic happens in f32.
struct Half {
  unsigned short bits = 0;
};
struct BFloat16 {
  unsigned short bits = 0;
};

}  // namespace kiln
