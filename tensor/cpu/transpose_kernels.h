// Owns the table of transpositions of small square blocks, one for every instruction set.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

inline constexpr std::int64_t kTransposeBytes = 128;  // of a row of a block: two cache lines

// Blocks of as many rows as there are elements in kTransposeBytes: to[r * to_stride + c] = from[c *
// from_stride + r]. The next block is probably the one behind, along c; what is written is not read soon when
// `streaming`.
template <class T>
using TransposeKernel = void (*)(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                 bool streaming);
struct TransposeKernels {
  TransposeKernel<std::uint32_t> words;
  TransposeKernel<std::uint64_t> doubles;
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(TransposeKernels, transpose_kernels)
