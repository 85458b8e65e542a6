// Owns products of matrices of halves on the processor's tiles (AMX), or by its vectors of pairs of bf16: how
// they are laid out and cut for threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/gemm.h"
#include "tensor/dtype.h"

namespace kiln::cpu::tiles {

// Is there what multiplies them, and are so many products of these sizes worth it?
template <class T>
bool pays(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k);

// As cpu::multiply, of bf16 or f16: summed in f32, in an order that k alone decides, and rounded once. Of
// each operand rows or columns are contiguous. Only where it `pays`. False, with anything in the results,
// when an operand has an element whose products tiles do not give (see tensor/cpu/products/tile_kernels.h). A
// sum below f32's normal range becomes 0.
template <class T>
bool multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k);

extern template bool pays<BFloat16>(std::int64_t, std::int64_t, std::int64_t, std::int64_t);
extern template bool pays<Half>(std::int64_t, std::int64_t, std::int64_t, std::int64_t);
extern template bool multiply<BFloat16>(std::span<const Product<BFloat16>>, std::int64_t, std::int64_t,
                                        std::int64_t);
extern template bool multiply<Half>(std::span<const Product<Half>>, std::int64_t, std::int64_t, std::int64_t);

}  // namespace kiln::cpu::tiles
