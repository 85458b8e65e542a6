// Owns products of matrices of bf16 through oneDNN: how they are cut for threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/gemm.h"
#include "tensor/dtype.h"

namespace kiln::cpu::onednn {

// As cpu::multiply, summed in f32 and rounded once. Rows of `a` follow one another in memory, and of `b` rows
// or columns are contiguous. False, with nothing done, when oneDNN 2 is not installed or has nothing for bf16
// that is faster than products in f32, when the product is too small for it, or when an operand has numbers
// below the normal range, which the processor's products of bf16 take for 0. Such sums become 0.
//
// How it is called, since results depend on it: `b` is put into the library's layout in blocks of columns,
// and each tile, cut by the sizes alone, is one primitive on one thread.
bool multiply(std::span<const Product<BFloat16>> products, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace kiln::cpu::onednn
