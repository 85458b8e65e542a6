// Owns the form of elementwise kernels and of the conversions around them. Every instruction set has its own
// tables.
#pragma once

#include <cstdint>

#include "tensor/cpu/isa.h"
#include "tensor/cpu/pointwise_params.h"
#include "tensor/dtype.h"

namespace kiln::cpu {

// out[i] = op(in[0][i], in[1][i], …) for i < n, all contiguous in the type of the arithmetic, or all of one
// narrower dtype (masks and predicates: one byte, 0 or 1). `out` may be one of the inputs. Returns not 0 when
// the op is not defined for some element.
using BlockKernel = unsigned (*)(const void* const* in, void* out, std::int64_t n, const Params& params);

inline constexpr int kMaxRows = 128;
inline constexpr int kNarrowCount = 4;  // Bool, U8, I8 and I16 come first among the dtypes
static_assert(static_cast<int>(DType::I16) == kNarrowCount - 1);
inline constexpr int kHalfCount = 2;  // F16, then BF16
static_assert(static_cast<int>(DType::BF16) == static_cast<int>(DType::F16) + 1);
inline constexpr int kValueSets = 1 << 3;  // of which operands are one value
inline constexpr int kValueFloats = 16;    // as often it stands in memory, as f32: a vector's worth
struct KernelTable {
  BlockKernel kernels[kMaxRows][kComputeCount] = {};  // by row and Compute; null where the rule refuses
  // Of two operands of f32, one of which is one element: by row and the number of that one; null where a
  // range is looked at.
  BlockKernel by_value[kMaxRows][2] = {};
  BlockKernel narrow[kMaxRows][kNarrowCount] = {};  // by row and DType: what I32 gives, without conversions
  // By row, dtype and the bits of the operands that are values: what F32 gives, converting in registers. Null
  // where nothing but values would be read, and where the instruction set has no conversions.
  BlockKernel halves[kMaxRows][kHalfCount][kValueSets] = {};
};

// Moves n elements between places `stride` elements apart and a contiguous block.
using LoadFn = void (*)(const void* from, std::int64_t stride, void* block, std::int64_t n);
using StoreFn = void (*)(const void* block, void* to, std::int64_t stride, std::int64_t n);
inline constexpr std::int64_t kWidestVector = 64;  // bytes, of any instruction set
// Each of so many elements `length` times; may write another vector behind them.
using RepeatFn = void (*)(const void* values, std::int64_t count, std::int64_t length, void* block);
struct ConvertTable {
  LoadFn load[kDTypeCount][kComputeCount] = {};
  StoreFn store[kComputeCount][kDTypeCount] = {};
  StoreFn store_bool[kDTypeCount] = {};  // from a block of bytes 0 or 1
  LoadFn load_raw[4] = {};               // of 1 << i bytes, as they are
  StoreFn store_raw[4] = {};
  RepeatFn repeat[4] = {};  // likewise
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(KernelTable, kernel_table)
KILN_ISA_TABLE(ConvertTable, convert_table)
