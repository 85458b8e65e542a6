#include "tensor/cpu/products/vector_product.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tensor/cpu/kernels.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {
namespace {

// Multiply-adds below which another thread costs more than it saves.
constexpr std::int64_t kVectorGrain = 1 << 16;

// ---- One product ------------------------------------------------------------------------------------------

// The next block's sum; integers wrap.
template <class Sum>
Sum add(Sum a, Sum b) {
  if constexpr (std::is_integral_v<Sum>)
    return static_cast<Sum>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

// y = a x for `count` vectors, in tasks of some rows by a block of their terms: f(part of a, its first term,
// sums, rows, terms), where sums of each vector are m apart. What tasks there are does not change what blocks
// add up to, nor the order in which they are added.
template <class T, class Sum, class F>
void multiply_in_tasks(const MatrixView<T>& a, Sum* y, std::int64_t count, std::int64_t m, std::int64_t k,
                       const F& f) {
  const std::int64_t size = count * m;
  if (k == 0) {
    std::fill_n(y, size, Sum{});
    return;
  }
  // Of columns, where those are contiguous, the longer parts the better; of rows more pieces even out
  // threads.
  constexpr std::int64_t kLeastRows = 64, kMostRows = 1024;
  const std::int64_t wanted = (a.row == 1 ? 2 : 4) * num_threads();
  const std::int64_t blocks = ceil_divide(k, kDotBlock);
  const std::int64_t pieces =
      std::clamp(ceil_divide(wanted, blocks), ceil_divide(m, kMostRows), ceil_divide(m, kLeastRows));
  std::vector<Sum> sums(static_cast<std::size_t>(blocks > 1 ? blocks * size : 0));
  Sum* const to = blocks > 1 ? sums.data() : y;
  const auto row_of = [&](std::int64_t piece) {
    return std::min(m, ceil_divide(m, kLeastRows) * piece / pieces * kLeastRows);
  };
  parallel_for(blocks * pieces, kVectorGrain * blocks * pieces / (size * k),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) {
                   const std::int64_t block = task / pieces, p = block * kDotBlock;
                   const std::int64_t first = row_of(task % pieces), last = row_of(task % pieces + 1);
                   const MatrixView<T> part{a.data + first * a.row + p * a.column, a.row, a.column};
                   f(part, p, to + block * size + first, last - first,
                     std::min<std::int64_t>(kDotBlock, k - p));
                 }
               });
  if (blocks == 1) return;
  std::copy_n(to, size, y);
  for (std::int64_t block = 1; block < blocks; ++block)
    for (std::int64_t i = 0; i < size; ++i) y[i] = add(y[i], to[block * size + i]);
}

// y = a x for elements of `x` so many apart.
template <class T>
void multiply_vector(const MatrixView<T>& a, const T* x, std::int64_t step, T* y, std::int64_t m,
                     std::int64_t k) {
  std::vector<T> packed;
  if (step != 1) {
    packed.resize(static_cast<std::size_t>(k));
    for (std::int64_t p = 0; p < k; ++p) packed[static_cast<std::size_t>(p)] = x[p * step];
    x = packed.data();
  }
  multiply_in_tasks(
      a, y, 1, m, k,
      [x](const MatrixView<T>& part, std::int64_t p, T* sums, std::int64_t rows, std::int64_t terms) {
        product_kernels().of<T>().vector(part, x + p, sums, rows, terms);
      });
}

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

// y = a x for the `count` rows of a matrix x. They are converted once.
template <class T>
void multiply_half_vectors(const MatrixView<T>& a, const MatrixView<T>& x, std::int64_t count, T* y,
                           std::int64_t m, std::int64_t k) {
  constexpr auto kF32 = static_cast<std::size_t>(Compute::F32),
                 kHalf = static_cast<std::size_t>(kHalfDType<T>);
  std::vector<float> factors(static_cast<std::size_t>(count * k)), sums(static_cast<std::size_t>(count * m));
  for (std::int64_t v = 0; v < count; ++v)
    convert_table().load[kHalf][kF32](x.data + v * x.row, x.column, factors.data() + v * k, k);
  multiply_in_tasks(
      a, sums.data(), count, m, k,
      [&](const MatrixView<T>& part, std::int64_t p, float* to, std::int64_t rows, std::int64_t terms) {
        for (std::int64_t v = 0; v < count; ++v)
          half_vector_kernel<T>()(part, factors.data() + v * k + p, to + v * m, rows, terms);
      });
  convert_table().store[kF32][kHalf](sums.data(), y, 1, count * m);
}

// ---- Several ----------------------------------------------------------------------------------------------

// Several vectors by one matrix: a strip of its columns that stays in the first cache, by one after the
// other.
template <class T>
void multiply_by_one_matrix(std::span<const Product<T>> products, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kStripBytes = 16 << 10, kStripColumns = 64;
  const std::int64_t strip =
      std::max(kStripColumns,
               kStripBytes / (k * static_cast<std::int64_t>(sizeof(T))) / kStripColumns * kStripColumns);
  const auto count = static_cast<std::int64_t>(products.size());
  parallel_for(ceil_divide(n, strip), std::max<std::int64_t>(1, kVectorGrain / (strip * k * count)),
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

// Calls f(matrix, vectors, count, y, rows) for each product: y = matrix x for the rows x of a matrix of
// vectors. Threads take whole products when there are many, or none is worth sharing.
template <class T, class F>
void each_product(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k,
                  const F& f) {
  const std::int64_t work = std::max<std::int64_t>(1, m * n * k);
  const auto count = static_cast<std::int64_t>(products.size());
  parallel_for(count, count < kManyProducts && work >= kVectorGrain ? count : kVectorGrain / work,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const auto& [a, b, c] = products[static_cast<std::size_t>(i)];
                   const MatrixView<T> columns{b.data, b.column, b.row};
                   n == 1 ? f(a, columns, 1, c, m) : f(columns, a, m, c, n);
                 }
               });
}

}  // namespace

template <class T>
void multiply_vectors(std::span<const Product<T>> products, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (share_matrix(products, n)) return multiply_by_one_matrix(products, n, k);
  each_product(products, m, n, k,
               [k](const MatrixView<T>& a, const MatrixView<T>& x, std::int64_t, T* y, std::int64_t rows) {
                 multiply_vector(a, x.data, x.column, y, rows, k);
               });
}

template <class T>
void multiply_vectors_of_halves(std::span<const Product<T>> products, std::int64_t m, std::int64_t n,
                                std::int64_t k) {
  each_product(products, m, n, k,
               [k](const MatrixView<T>& a, const MatrixView<T>& x, std::int64_t count, T* y,
                   std::int64_t rows) { multiply_half_vectors(a, x, count, y, rows, k); });
}

#define KILN_VECTORS(T, NAME) \
  template void NAME<T>(std::span<const Product<T>>, std::int64_t, std::int64_t, std::int64_t);
KILN_VECTORS(std::uint8_t, multiply_vectors)
KILN_VECTORS(std::int8_t, multiply_vectors)
KILN_VECTORS(std::int16_t, multiply_vectors)
KILN_VECTORS(std::int32_t, multiply_vectors)
KILN_VECTORS(std::int64_t, multiply_vectors)
KILN_VECTORS(float, multiply_vectors)
KILN_VECTORS(double, multiply_vectors)
KILN_VECTORS(Half, multiply_vectors_of_halves)
KILN_VECTORS(BFloat16, multiply_vectors_of_halves)
#undef KILN_VECTORS

}  // namespace kiln::cpu
