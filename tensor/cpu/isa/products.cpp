// Owns our own matrix kernels, compiled once per instruction set.
#include <algorithm>

#include "tensor/cpu/isa/vector_products.h"
#include "tensor/cpu/products/product_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// ---- Small products: each element is added up in the order of k ----

// Sums that stay in registers: so many rows by so many vectors of columns.
constexpr int kTileRows = kGroup, kTileVectors = 2;

// What a tile reads and writes.
template <class T>
struct TileOf {
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t ldb;
  T* c;
  std::int64_t ldc, depth;
  bool accumulate;
};

// The columns of the last vector that are there; the whole vector where kWhole.
template <bool kWhole, class T>
[[gnu::always_inline]] inline auto columns_from(const T* from, std::int64_t width) {
  using Sum = ProductSum<T>;
  if constexpr (kWhole) return load_wide<Sum>(factors(from));
  return load_some<Sum>(factors(from), width, Sum{});
}

// The first of them.
template <class T>
[[gnu::always_inline]] inline void store_sums(T* to, const VectorOf<ProductSum<T>>& sums,
                                              std::int64_t count) {
  if constexpr (std::is_same_v<T, ProductSum<T>>) return store_some(to, sums, count);
  for (int i = 0; i < count; ++i) to[i] = static_cast<T>(sums[i]);
}

template <int kRows, int kCount, bool kWhole, class T>
void multiply_tile(const TileOf<T>& of, std::int64_t last) {
  using Sum = ProductSum<T>;
  constexpr int kOne = kWidth<Sum>;
  const auto column = [&](const T* row, int v) __attribute__((always_inline)) {
    const T* const from = row + v * kOne;
    return v + 1 < kCount ? load_wide<Sum>(factors(from)) : columns_from<kWhole>(from, last);
  };
  VectorOf<Sum> sums[kRows][kCount];
  each<kRows>([&](auto r) {
    each<kCount>(
        [&](auto v) { sums[r][v] = of.accumulate ? column(of.c + r * of.ldc, v) : VectorOf<Sum>{}; });
  });
  for (std::int64_t p = 0; p < of.depth; ++p) {
    const T* const row = of.b + p * of.ldb;
    VectorOf<Sum> right[kCount];
    each<kCount>([&](auto v) { right[v] = column(row, v); });
    each<kRows>([&](auto r) {
      const auto left = static_cast<Sum>(of.a[r * of.a_row + p * of.a_column]);
      each<kCount>([&](auto v) { sums[r][v] += right[v] * left; });
    });
  }
  each<kRows>([&](auto r) {
    each<kCount>([&](auto v) {
      T* const to = of.c + r * of.ldc + v * kOne;
      store_sums<T>(to, sums[r][v], kWhole || v + 1 < kCount ? kOne : last);
    });
  });
}

// kRows rows of the result.
template <int kRows, class T>
void multiply_rows(const TileOf<T>& all, std::int64_t n) {
  constexpr std::int64_t kOne = kWidth<ProductSum<T>>;
  const auto from = [&](std::int64_t j) {
    TileOf<T> of = all;
    of.b += j, of.c += j;
    return of;
  };
  std::int64_t j = 0;
  for (; n - j >= kTileVectors * kOne; j += kTileVectors * kOne)
    multiply_tile<kRows, kTileVectors, true>(from(j), 0);
  for (; n - j >= kOne; j += kOne) multiply_tile<kRows, 1, true>(from(j), 0);
  if (n > j) multiply_tile<kRows, 1, false>(from(j), n - j);
}

template <class T>
void rows(const MatrixView<T>& a, const T* b, std::int64_t ldb, T* c, std::int64_t ldc, std::int64_t m,
          std::int64_t n, std::int64_t k, bool accumulate) {
  std::int64_t i = 0;
  const auto of = [&] {
    return TileOf<T>{a.data + i * a.row, a.row, a.column, b, ldb, c + i * ldc, ldc, k, accumulate};
  };
  for (; i + kTileRows <= m; i += kTileRows) multiply_rows<kTileRows>(of(), n);
  for (; i + 2 <= m; i += 2) multiply_rows<2>(of(), n);
  if (i < m) multiply_rows<1>(of(), n);
}

template <class T>
constexpr ProductKernels<T> kKernelsOf{rows<T>, vector<T>};

constexpr ProductTable kTable{
    kKernelsOf<std::uint8_t>, kKernelsOf<std::int8_t>, kKernelsOf<std::int16_t>, kKernelsOf<std::int32_t>,
    kKernelsOf<std::int64_t>, kKernelsOf<float>,       kKernelsOf<double>,       vector<Half>,
    vector<BFloat16>};

}  // namespace

const ProductTable& product_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
