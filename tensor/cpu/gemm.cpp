#include "tensor/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "tensor/cpu/blas.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/panel_product.h"
#include "tensor/cpu/row_blocks.h"
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
std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

// One long dot product: threads take blocks, which are added in order.
template <class T>
T dot_threaded(const T* a, const T* b, std::int64_t count) {
  const std::int64_t blocks = ceil_divide(count, kDotBlock);
  std::vector<T> sums(static_cast<std::size_t>(blocks));
  parallel_for(blocks, ceil_divide(kThreadGrain, kDotBlock), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i * kDotBlock;
      sums[static_cast<std::size_t>(i)] =
          product_kernels().of<T>().dot(a + at, b + at, std::min(kDotBlock, count - at));
    }
  });
  T total{};
  for (const T& sum : sums) {
    if constexpr (std::is_integral_v<T>) {
      total = static_cast<T>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(sum));
    } else {
      total += sum;
    }
  }
  return total;
}

// Rows for a thread: of many so many that columns, where those are contiguous, are read for a while each.
std::int64_t vector_grain(std::int64_t m, std::int64_t k) {
  constexpr std::int64_t kLong = 1024;
  return std::max(m >= 2 * kLong ? kLong : 1, kThreadGrain / std::max<std::int64_t>(k, 1));
}

template <class T>
void multiply_vector(const MatrixView<T>& a, const T* x, std::int64_t step, T* y, std::int64_t m,
                     std::int64_t k) {
  std::vector<T> packed;
  if (step != 1) {
    packed.resize(static_cast<std::size_t>(k));
    for (std::int64_t p = 0; p < k; ++p) packed[static_cast<std::size_t>(p)] = x[p * step];
    x = packed.data();
  }
  if (m == 1 && a.column == 1 && k > kDotBlock) {
    *y = dot_threaded(a.data, x, k);
    return;
  }
  parallel_for(m, vector_grain(m, k), [&](std::int64_t begin, std::int64_t end) {
    const MatrixView<T> part{a.data + begin * a.row, a.row, a.column};
    product_kernels().of<T>().vector(part, x, y + begin, end - begin, k);
  });
}

// Several vectors by one matrix: a strip of its columns that stays in the first cache, by one after the
// other.
template <class T>
void multiply_by_one_matrix(std::span<const Product<T>> products, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kStripBytes = 16 << 10, kStripColumns = 64;
  const std::int64_t strip =
      std::max(kStripColumns,
               kStripBytes / (k * static_cast<std::int64_t>(sizeof(T))) / kStripColumns * kStripColumns);
  const auto count = static_cast<std::int64_t>(products.size());
  parallel_for(ceil_divide(n, strip), std::max<std::int64_t>(1, kThreadGrain / (strip * k * count)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t first = i * strip, columns = std::min(strip, n - first);
                   for (const auto& [x, matrix, y] : products) {
                     const MatrixView<T> part{matrix.data + first * matrix.column, matrix.column, matrix.row};
                     product_kernels().of<T>().vector(part, x.data, y + first, columns, k);
                   }
                 }
               });
}

// Do several vectors that lie in one piece meet the same matrix, each place of whose product is one's own?
template <class T>
bool share_matrix(std::span<const Product<T>> products, std::int64_t n) {
  return n > 1 && products.size() > 1 && std::all_of(products.begin(), products.end(), [&](const auto& each) {
           return each.a.column == 1 && each.b.data == products[0].b.data;
         });
}

// Calls f(matrix, x, step, y, rows) for each product: y = matrix x for elements of `x` so many apart. Threads
// take whole products when there are several and none is worth sharing.
template <class T, class F>
void each_vector(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
                 const F& f) {
  const std::int64_t work = std::max<std::int64_t>(1, m * n * k);
  const auto count = static_cast<std::int64_t>(products.size());
  parallel_for(count, work >= kThreadGrain ? count : kThreadGrain / work,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const auto& [a, b, c] = products[static_cast<std::size_t>(i)];
                   if (n == 1)
                     f(a, b.data, b.row, c, m);
                   else
                     f(MatrixView<T>{b.data, b.column, b.row}, a.data, a.column, c, n);
                 }
               });
}

template <class T>
void multiply_vectors(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (share_matrix(products, n)) return multiply_by_one_matrix(products, n, k);
  each_vector(products, m, n, k,
              [k](const MatrixView<T>& a, const T* x, std::int64_t step, T* y, std::int64_t rows) {
                multiply_vector(a, x, step, y, rows, k);
              });
}

// ---- Vectors of halves ----

template <class T>
constexpr DType kHalfDType = DType::F16;
template <>
constexpr DType kHalfDType<BFloat16> = DType::BF16;

template <class T>
HalfVectorFn<T> half_vector_kernel() {
  if constexpr (std::is_same_v<T, Half>)
    return product_kernels().f16_vector;
  else
    return product_kernels().bf16_vector;
}

// y = a x for elements of `x` so many apart.
template <class T>
void multiply_half_vector(const MatrixView<T>& a, const T* x, std::int64_t step, T* y, std::int64_t m,
                          std::int64_t k) {
  constexpr auto kF32 = static_cast<std::size_t>(Compute::F32),
                 kHalf = static_cast<std::size_t>(kHalfDType<T>);
  std::vector<float> factors(static_cast<std::size_t>(k));
  convert_table().load[kHalf][kF32](x, step, factors.data(), k);
  parallel_for(m, vector_grain(m, k), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sums(static_cast<std::size_t>(end - begin));
    const MatrixView<T> part{a.data + begin * a.row, a.row, a.column};
    half_vector_kernel<T>()(part, factors.data(), sums.data(), end - begin, k);
    convert_table().store[kF32][kHalf](sums.data(), y + begin, 1, end - begin);
  });
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

template <class T>
void multiply_vectors_of_halves(std::span<const Product<T>> products, std::int64_t m, std::int64_t n,
                                std::int64_t k) {
  each_vector(products, m, n, k,
              [k](const MatrixView<T>& a, const T* x, std::int64_t step, T* y, std::int64_t rows) {
                multiply_half_vector(a, x, step, y, rows, k);
              });
}

template void multiply_vectors_of_halves<Half>(std::span<const Product<Half>>, std::int64_t, std::int64_t,
                                               std::int64_t);
template void multiply_vectors_of_halves<BFloat16>(std::span<const Product<BFloat16>>, std::int64_t,
                                                   std::int64_t, std::int64_t);
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
