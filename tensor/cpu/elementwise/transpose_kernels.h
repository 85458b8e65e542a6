// Owns the table of transpositions of small blocks, one for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/isa.h"

namespace kiln::cpu {

// A block: of each row of the source one or two cache lines, so that all of it is read while it is there, and
// of each row of the result so many elements that what is written lies together, as memory likes it. Two
// lines are fetched together; wide elements leave the block in the first cache even so.
constexpr std::int64_t transpose_rows(std::int64_t item) { return (item < 4 ? 64 : 128) / item; }
constexpr std::int64_t transpose_columns(std::int64_t item) { return item < 4 ? 256 : 64; }

// A block of at most `transpose_columns`: to[r * to_stride + c] = from[c * from_stride + r], strides in
// elements.
using TransposeKernel = void (*)(const std::byte* from, std::int64_t from_stride, std::byte* to,
                                 std::int64_t to_stride, std::int64_t rows, std::int64_t columns);
struct TransposeKernels {
  TransposeKernel of_size[4];  // by log2 of the bytes of an element
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(TransposeKernels, transpose_kernels)
