// Owns the form of elementwise kernels and of the conversions around them. Every instruction set has its own
// tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cpu/isa.h"
#include "tensor/dtype.h"
#include "tensor/pointwise_params.h"

namespace kiln::cpu {

// out[i] = op(in[0][i], in[1][i], …) for i < n, all contiguous in the type of the arithmetic, or all of one
// narrower dtype (masks and predicates: one byte, 0 or 1). `out` may be one of the inputs. Returns not 0 when
// the op is not defined for some element.
using BlockKernel = unsigned (*)(const void* const* in, void* out, std::int64_t n, const Params& params);

inline constexpr int kMostOperands = 3;
// Rows of n elements; from one to the next operands move by `step` bytes and results by `out_step`. Of an
// operand that is one value each row has its own.
struct OperandRows {
  const std::byte* in[kMostOperands] = {};
  std::int64_t step[kMostOperands] = {};
  std::byte* out = nullptr;
  std::int64_t out_step = 0;
  std::int64_t count = 1, n = 0;
};
using RowsKernel = unsigned (*)(const OperandRows& rows, const Params& params);

inline constexpr int kMaxRows = 128;
inline constexpr int kNarrowCount = 4;  // Bool, U8, I8 and I16 come first among the dtypes
static_assert(static_cast<int>(DType::I16) == kNarrowCount - 1);
inline constexpr int kValueSets = 1 << kMostOperands;  // of which operands are one value

// The kernels of one row of ops/elementwise.def, by the dtype of what they read; those of rows also by the
// bits of the operands that are one value for each row:
//   F32, F64, I32, I64     where the rule allows arithmetic in that type;
//   Bool, U8, I8, I16      what I32 gives, without conversions;
//   F16, BF16              what F32 gives, converting in registers.
// Null where there is none: masks and halves are no values, and an instruction set may convert no halves.
struct OpKernels {
  BlockKernel block[kDTypeCount] = {};
  RowsKernel rows[kDTypeCount][kValueSets] = {};
};
struct KernelTable {
  OpKernels rows[kMaxRows] = {};
};

// Moves n elements between places `stride` elements apart and a contiguous block.
using LoadFn = void (*)(const void* from, std::int64_t stride, void* block, std::int64_t n);
using StoreFn = void (*)(const void* block, void* to, std::int64_t stride, std::int64_t n);
inline constexpr std::int64_t kWidestVector = 64;  // bytes, of any instruction set
struct ConvertTable {
  LoadFn load[kDTypeCount][kComputeCount] = {};
  StoreFn store[kComputeCount][kDTypeCount] = {};
  StoreFn store_bool[kDTypeCount] = {};  // from a block of bytes 0 or 1
  LoadFn load_raw[4] = {};               // of 1 << i bytes, as they are
  StoreFn store_raw[4] = {};
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(KernelTable, kernel_table)
KILN_ISA_TABLE(ConvertTable, convert_table)
