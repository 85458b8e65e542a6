// Owns products of matrices of f32 and f64 by panels: how they are laid out and cut for threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/gemm.h"

namespace kiln::cpu::panels {

// Has the instruction set kernels for panels, and are products of these sizes worth them?
template <class T>
bool pays(std::int64_t m, std::int64_t n, std::int64_t k);

// As cpu::multiply, of matrices of any layouts, the same for all products; only where it `pays`. Elements are
// fused multiply-adds in the order of k, in parts of it that sizes and layouts decide.
template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done);

extern template bool pays<float>(std::int64_t, std::int64_t, std::int64_t);
extern template bool pays<double>(std::int64_t, std::int64_t, std::int64_t);
extern template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);
extern template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t,
                                      std::int64_t, const RangeFn*);

}  // namespace kiln::cpu::panels
