// Owns what elementwise kernels are given beside their operands. Plain: kernels for every instruction set,
// the JIT and NVRTC share it.
#pragma once

namespace kiln {

// The types that elementwise arithmetic happens in; every dtype converts to one of them.
enum class Compute : unsigned char { F32, F64, I32, I64 };
inline constexpr int kComputeCount = 4;

struct Params {
  double v[4] = {};     // attributes in order; absent ones are nan, words are their position in the op's list
  long long n[4] = {};  // those that are integers, which a double need not hold
  double largest = 0;   // finite value of the promoted dtype
  int bits = 0;         // of the promoted dtype; 1 for bool
  unsigned integers = 0;  // bit i: attribute i is one
};

}  // namespace kiln
