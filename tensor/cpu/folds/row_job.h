// Owns the description of kernels that work on whole rows in cache: softmax, the norms, and their
// derivatives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/isa.h"
#include "tensor/dtype.h"

namespace kiln::cpu {

// Every tensor is contiguous: full ones [rows, size], per-row ones [rows] and per-column ones [size]. Per-row
// tensors hold accumulators (f32 for halves), the others elements of one float dtype. Absent ones are null.
struct RowJob {
  std::int64_t rows = 0;
  std::int64_t size = 0;            // elements of a row, >= 1
  const std::byte* in[2] = {};      // full: x, or the gradient and then x or y
  const std::byte* column[2] = {};  // per column: weight, bias
  std::byte* out = nullptr;         // full
  std::byte* row_out[2] = {};       // per row: mean, reciprocal standard deviation
  double epsilon = 0;
};

using RowKernel = void (*)(const RowJob& job, std::int64_t begin, std::int64_t end);  // rows [begin, end)

enum class RowProgram : std::uint8_t {
  Softmax,             // in: x
  LogSoftmax,          // in: x
  SoftmaxBackward,     // in: gradient, y
  LogSoftmaxBackward,  // in: gradient, y
  LayerNorm,           // in: x; column: weight?, bias?
  LayerNormBackward,   // in: gradient, x; column: weight?; row_out: mean?, rstd?
  RmsNorm,             // in: x; column: weight?
  RmsNormBackward,     // in: gradient, x; column: weight?; row_out: null, rstd?
};
inline constexpr int kRowProgramCount = 8;
inline constexpr int kFloatDTypeCount = 4;  // F16, BF16, F32, F64 in that order

// Sums over all rows of gradient * (x - mean) * rstd and of gradient, for each column, in the fixed order.
struct NormColumnsJob {
  std::int64_t rows = 0, size = 0;
  std::int64_t blocks = 0, tile = 0;    // of rows; of columns
  const std::byte* gradient = nullptr;  // [rows, size]
  const std::byte* x = nullptr;         // [rows, size]
  const std::byte* mean = nullptr;      // [rows], null: 0
  const std::byte* rstd = nullptr;      // [rows]
  bool statistics_of_columns = false;   // `mean` and `rstd` are there, and [size]
  std::byte* results = nullptr;         // accumulators [2, size, blocks]
};
inline constexpr std::int64_t kNormColumnTile = 256;
// Unit: block * tiles + tile.
using NormColumnsKernel = void (*)(const NormColumnsJob& job, std::int64_t begin, std::int64_t end);

struct RowKernels {
  RowKernel program[kRowProgramCount][kFloatDTypeCount];
  NormColumnsKernel norm_columns[kFloatDTypeCount];
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(RowKernels, row_kernels)
