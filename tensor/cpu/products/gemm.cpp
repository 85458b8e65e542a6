#include "tensor/cpu/products/gemm.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "tensor/cpu/products/blas.h"
#include "tensor/cpu/products/panel_product.h"
#include "tensor/cpu/products/row_blocks.h"
#include "tensor/cpu/products/vector_product.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

namespace {

// Multiply-adds below which a library call costs more than it saves, and below which another thread does.
constexpr std::int64_t kSmallProduct = 32 * 32 * 32;
// Sums so short likewise, measured with OpenBLAS and oneDNN.
template <class T>
constexpr std::int64_t kShortSum = sizeof(T) == 4 ? 8 : 16;
constexpr std::int64_t kThreadGrain = 1 << 16;
constexpr std::int64_t kDoneGrain = 1 << 14;  // elements of a result that are worth a thread
// Pieces of a large product: wide enough for the library, many enough for threads.
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileColumns = 512;
constexpr std::int64_t kTileRound = 16;

// ---- Own kernels ----

// Own product of any layouts: `b` is packed block by block unless its rows are contiguous.
template <class T>
void own_product(const Product<T>& product, T* c, std::int64_t ldc, std::int64_t m, std::int64_t n,
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

// ---- Through a library ----

template <class T>
GemmFn<T> library() {
  if constexpr (std::is_same_v<T, float>) return library_sgemm();
  if constexpr (std::is_same_v<T, double>) return library_dgemm();
  return nullptr;
}

// A matrix as the library wants it: rows or columns contiguous. Others are copied first.
template <class T>
struct LibraryMatrix {
  const T* data;
  std::int64_t leading;
  bool transposed;
  std::vector<T> copy;

  LibraryMatrix(const MatrixView<T>& view, std::int64_t rows, std::int64_t columns) : data(view.data) {
    const bool by_row = (view.column == 1 || columns == 1) && (view.row >= columns || rows == 1);
    const bool by_column = (view.row == 1 || rows == 1) && (view.column >= rows || columns == 1);
    transposed = !by_row && by_column;
    leading = transposed ? (columns == 1 ? rows : view.column) : (rows == 1 ? columns : view.row);
    if (by_row || by_column) return;
    copy.resize(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        copy[static_cast<std::size_t>(i * columns + j)] = view.data[i * view.row + j * view.column];
      }
    }
    data = copy.data();
    leading = columns;
  }
  // The part from row i, column j on.
  const T* at(std::int64_t i, std::int64_t j) const {
    return data + (transposed ? j * leading + i : i * leading + j);
  }
};

// How a product is cut: by sizes alone.
struct Tiling {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t across;
  std::int64_t count;

  Tiling(std::int64_t m, std::int64_t n, std::int64_t k) : rows(m), columns(n), across(1), count(1) {
    if (m * n * k < 2 * kThreadGrain) return;
    const auto even = [](std::int64_t size, std::int64_t limit) {
      const std::int64_t part = ceil_divide(size, ceil_divide(size, limit));
      return ceil_divide(part, kTileRound) * kTileRound;
    };
    rows = even(m, std::clamp<std::int64_t>(m / 2, 64, kTileRows));
    columns = even(n, kTileColumns);
    across = ceil_divide(n, columns);
    count = across * ceil_divide(m, rows);
  }
};

template <class T>
void multiply_by_library(GemmFn<T> gemm, std::span<const Product<T>> products, std::int64_t m, std::int64_t n,
                         std::int64_t k, const RangeFn* done) {
  const Tiling tiling(m, n, k);
  const std::int64_t blocks = tiling.count / tiling.across;
  RowBlocks rows(blocks * static_cast<std::int64_t>(products.size()), tiling.across, done);
  std::vector<LibraryMatrix<T>> lefts;
  std::vector<LibraryMatrix<T>> rights;
  for (const Product<T>& product : products) {
    lefts.emplace_back(product.a, m, k);
    rights.emplace_back(product.b, k, n);
  }
  const std::int64_t work = tiling.rows * tiling.columns * k;
  const auto count = static_cast<std::int64_t>(products.size()) * tiling.count;
  parallel_for(
      count, std::max<std::int64_t>(1, kThreadGrain / work), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const auto index = static_cast<std::size_t>(task / tiling.count);
          const std::int64_t tile = task % tiling.count;
          const std::int64_t i = tile / tiling.across * tiling.rows;
          const std::int64_t j = tile % tiling.across * tiling.columns;
          const LibraryMatrix<T>& a = lefts[index];
          const LibraryMatrix<T>& b = rights[index];
          gemm(a.transposed, b.transposed, std::min(tiling.rows, m - i), std::min(tiling.columns, n - j), k,
               a.at(i, 0), a.leading, b.at(0, j), b.leading, products[index].c + i * n + j, n);
          const std::int64_t first = static_cast<std::int64_t>(index) * m + i;
          rows.piece(task / tiling.count * blocks + i / tiling.rows, first * n,
                     (first + std::min(tiling.rows, m - i)) * n);
        }
      });
}

template <class T>
void multiply_ourselves(std::span<const Product<T>> products, std::int64_t m, std::int64_t n,
                        std::int64_t k) {
  const auto count = static_cast<std::int64_t>(products.size()) * m;
  parallel_for(count, std::max<std::int64_t>(1, kThreadGrain / (n * k)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end;) {
                   Product<T> product = products[static_cast<std::size_t>(row / m)];
                   const std::int64_t first = row % m;
                   const std::int64_t rows = std::min(m - first, end - row);
                   product.a.data += first * product.a.row;
                   own_product(product, product.c + first * n, n, rows, n, k);
                   row += rows;
                 }
               });
}

}  // namespace

template <class T>
void multiply(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
              const RangeFn* done) {
  if (m == 0 || n == 0) return;
  const bool is_vector = m == 1 || n == 1;
  if constexpr (std::is_floating_point_v<T>) {
    if (!is_vector && panels::pays<T>(products[0], m, n, k))
      return panels::multiply<T>(products, m, n, k, done);
  }
  const bool is_small = m * n * k <= kSmallProduct || k <= kShortSum<T>;
  const GemmFn<T> gemm = !is_vector && !is_small ? library<T>() : nullptr;
  if (gemm) return multiply_by_library(gemm, products, m, n, k, done);
  if (k == 0) {
    for (const Product<T>& product : products) std::fill_n(product.c, m * n, T{});
  } else if (is_vector) {
    multiply_vectors(products, m, n, k);
  } else {
    multiply_ourselves(products, m, n, k);
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
