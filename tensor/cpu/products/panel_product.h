// Owns products of matrices of f32 and f64 by panels: how they are laid out and cut for threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/gemm.h"

namespace kiln::cpu::panels {

// Has the instruction set kernels for panels, which are fused multiply-adds?
bool are_there();

// As cpu::multiply, of matrices of any layouts, the same for all products, and never vectors. Elements are
// fused multiply-adds in the order of k, in so many parts of it (tensor/product_order.h).
template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              std::int64_t parts, const RangeFn* done);

extern template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t,
                                     std::int64_t, std::int64_t, const RangeFn*);
extern template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t,
                                      std::int64_t, std::int64_t, const RangeFn*);

}  // namespace kiln::cpu::panels
