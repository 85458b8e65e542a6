// Owns products of plain matrices in memory: which kernel runs, and how one product is cut for threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/cpu/products/product_kernels.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// One product of a batch. `c` is contiguous, rows `n` apart.
template <class T>
struct Product {
  MatrixView<T> a;
  MatrixView<T> b;
  T* c;
};

// So many products of one call, or more: each thread does several, whole.
inline constexpr std::int64_t kManyProducts = 16;

// c = a[m, k] b[k, n] for every product. The bits depend on sizes and layouts, never on the number of
// threads: the cut into pieces is fixed and every piece is computed by one thread. Integers wrap.
// `done` is called with ranges of elements of all `c`, which follow each other in memory then: whole rows,
// once each and from any thread, when their sums are complete.
template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done = nullptr);

extern template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);
extern template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t,
                                      std::int64_t, const RangeFn*);
extern template void multiply<std::uint8_t>(std::span<const Product<std::uint8_t>>, std::int64_t,
                                            std::int64_t, std::int64_t, const RangeFn*);
extern template void multiply<std::int8_t>(std::span<const Product<std::int8_t>>, std::int64_t, std::int64_t,
                                           std::int64_t, const RangeFn*);
extern template void multiply<std::int16_t>(std::span<const Product<std::int16_t>>, std::int64_t,
                                            std::int64_t, std::int64_t, const RangeFn*);
extern template void multiply<std::int32_t>(std::span<const Product<std::int32_t>>, std::int64_t,
                                            std::int64_t, std::int64_t, const RangeFn*);
extern template void multiply<std::int64_t>(std::span<const Product<std::int64_t>>, std::int64_t,
                                            std::int64_t, std::int64_t, const RangeFn*);

}  // namespace kiln::cpu
