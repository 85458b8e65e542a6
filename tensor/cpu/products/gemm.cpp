#include "tensor/cpu/products/gemm.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "tensor/cpu/products/panel_product.h"
#include "tensor/cpu/products/vector_product.h"
#include "tensor/parallel.h"
#include "tensor/product_order.h"

namespace kiln::cpu {

namespace {

// Multiply-adds below which another thread costs more than it saves.
constexpr std::int64_t kThreadGrain = 1 << 16;
constexpr std::int64_t kDoneGrain = 1 << 14;  // elements of a result that are worth a thread

// One product of any layouts: `b` is packed block by block unless its rows are contiguous.
template <class T>
void multiply_in_turn(const Product<T>& product, T* c, std::int64_t ldc, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
  const ProductKernels<T>& kernels = product_kernels().of<T>();
  if (product.b.column == 1) {
    kernels.rows(product.a, product.b.data, product.b.row, c, ldc, m, n, k, false);
    return;
  }
  constexpr std::int64_t kBlock = 64;
  std::array<T, kBlock * kBlock> packed;
  for (std::int64_t j = 0; j < n; j += kBlock) {
    const std::int64_t width = std::min(kBlock, n - j);
    for (std::int64_t p = 0; p < k; p += kBlock) {
      check_interrupt();
      const std::int64_t depth = std::min(kBlock, k - p);
      for (std::int64_t column = 0; column < width; ++column) {
        const T* from = product.b.data + p * product.b.row + (j + column) * product.b.column;
        for (std::int64_t row = 0; row < depth; ++row) {
          packed[static_cast<std::size_t>(row * width + column)] = from[row * product.b.row];
        }
      }
      const MatrixView<T> a{product.a.data + p * product.a.column, product.a.row, product.a.column};
      kernels.rows(a, packed.data(), width, c + j, ldc, m, width, depth, p > 0);
    }
  }
}

template <class T>
void multiply_in_turn(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto count = static_cast<std::int64_t>(products.size()) * m;
  parallel_for(count, std::max<std::int64_t>(1, kThreadGrain / (n * k)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end;) {
                   Product<T> product = products[static_cast<std::size_t>(row / m)];
                   const std::int64_t first = row % m;
                   const std::int64_t rows = std::min(m - first, end - row);
                   product.a.data += first * product.a.row;
                   multiply_in_turn(product, product.c + first * n, n, rows, n, k);
                   row += rows;
                 }
               });
}

}  // namespace

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done) {
  if (m == 0 || n == 0 || products.empty()) return;
  constexpr bool kIsFloat = std::is_floating_point_v<T>;
  const ProductSums sums =
      product_sums({m, n, k}, products[0].b.column == 1, kIsFloat && panels::are_there());
  if constexpr (kIsFloat) {
    if (sums.order == ProductOrder::Fused) return panels::multiply<T>(products, m, n, k, sums.parts, done);
  }
  if (k == 0) {
    for (const Product<T>& product : products) std::fill_n(product.c, m * n, T{});
  } else if (sums.order == ProductOrder::Lanes) {
    multiply_vectors(products, m, n, k);
  } else {
    multiply_in_turn(products, m, n, k);
  }
  if (done != nullptr) {
    parallel_for(static_cast<std::int64_t>(products.size()) * m, std::max<std::int64_t>(1, kDoneGrain / n),
                 [&](std::int64_t begin, std::int64_t end) { (*done)(begin* n, end* n); });
  }
}

template void multiply<float>(std::span<const Product<float>>, std::int64_t, std::int64_t, std::int64_t,
                              const RangeFn*);
template void multiply<double>(std::span<const Product<double>>, std::int64_t, std::int64_t, std::int64_t,
                               const RangeFn*);
template void multiply<std::uint8_t>(std::span<const Product<std::uint8_t>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);
template void multiply<std::int8_t>(std::span<const Product<std::int8_t>>, std::int64_t, std::int64_t,
                                    std::int64_t, const RangeFn*);
template void multiply<std::int16_t>(std::span<const Product<std::int16_t>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);
template void multiply<std::int32_t>(std::span<const Product<std::int32_t>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);
template void multiply<std::int64_t>(std::span<const Product<std::int64_t>>, std::int64_t, std::int64_t,
                                     std::int64_t, const RangeFn*);

}  // namespace kiln::cpu
