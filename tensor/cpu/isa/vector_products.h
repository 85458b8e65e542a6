// Owns products of a matrix and a vector: each element is added up in kDotLanes lanes (element p of a block
// in lane p % kDotLanes) and then a tree, whatever the strides, so that layouts do not matter. Included only
// by files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/products/product_kernels.h"

namespace kiln::cpu::KILN_ISA {

// Halves are added up in f32; sums of integers wrap, which signed C++ arithmetic does not.
template <class T>
struct ProductSumFor {
  using type = AccumulatorOf<T>;
};
template <class T>
  requires std::is_integral_v<T>
struct ProductSumFor<T> {
  using type = std::make_unsigned_t<decltype(T{} + T{})>;
};
template <class T>
using ProductSum = typename ProductSumFor<T>::type;
// Of matrices of halves, vectors are f32: they are converted once.
template <class T>
using VectorElement = std::conditional_t<kIsHalf<T>, AccumulatorOf<T>, T>;

// Factors in memory, read as what sums of them are where only the sign differs.
template <class T>
inline const auto* factors(const T* from) {
  if constexpr (sizeof(T) == sizeof(ProductSum<T>))
    return reinterpret_cast<const ProductSum<T>*>(from);
  else
    return from;
}

template <class T>
inline ProductSum<T> factor(T x) {
  if constexpr (kIsHalf<T>)
    return widen(x);
  else
    return static_cast<ProductSum<T>>(x);
}

// sum + a b. Of halves that is one operation where the instruction set has it: their products are exact in
// f32, but for those of bf16 below its normal range, so nothing else is rounded otherwise.
template <class T, class Vector>
[[gnu::always_inline]] inline Vector add_product(Vector sum, Vector a, Vector b) {
#if defined(__AVX512F__)
  if constexpr (kIsHalf<T>)
    return reinterpret_cast<Vector>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                                    reinterpret_cast<__m512>(sum)));
#elif defined(__FMA__)
  if constexpr (kIsHalf<T>)
    return reinterpret_cast<Vector>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                                    reinterpret_cast<__m256>(sum)));
#endif
  return sum + a * b;
}
template <class T>
[[gnu::always_inline]] inline ProductSum<T> add_one_product(ProductSum<T> sum, ProductSum<T> a,
                                                            ProductSum<T> b) {
#if defined(__FMA__)
  if constexpr (kIsHalf<T>) return __builtin_fmaf(a, b, sum);
#endif
  return sum + a * b;
}

// ---- Rows whose elements are contiguous ----

template <class Sum>
inline constexpr int kRowVectors = kDotLanes / kWidth<Sum>;
// Rows side by side, so that no sum waits for another; half of the registers hold sums.
template <class Sum>
inline constexpr int kRowsAtOnce = std::max(1, 2 * kGroup / kRowVectors<Sum>);

// As many terms as there are lanes.
template <class Sum>
using Terms = VectorOf<Sum>[kRowVectors<Sum>];

// A vector at `from` of whose elements so many are there, if any; zeros for the others.
template <bool kWhole, class Sum, class In>
[[gnu::always_inline]] inline VectorOf<Sum> read_vector(const In* from, std::int64_t there) {
  if (kWhole || there >= kWidth<Sum>) return load_wide<Sum>(from);
  return there > 0 ? load_some<Sum>(from, there, Sum{}) : VectorOf<Sum>{};
}
// The terms from `from` on, of which so many are there.
template <bool kWhole, class Sum, class In>
[[gnu::always_inline]] inline void read_terms(const In* from, std::int64_t there, Terms<Sum>& to) {
  each<kRowVectors<Sum>>([&](auto k) {
    to[k] = read_vector<kWhole, Sum>(factors(from + k * kWidth<Sum>), there - k * kWidth<Sum>);
  });
}
// The lanes, folded until one vector is left.
template <class Sum>
[[gnu::always_inline]] inline VectorOf<Sum> fold_terms(Terms<Sum>& lanes) {
#pragma GCC unroll 8
  for (int half = kRowVectors<Sum> / 2; half >= 1; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

// What as many rows as a vector of sums has come to, each a lane; of rows that are not there, zeros.
template <class T>
using RowSums = VectorOf<ProductSum<T>>[kWidth<ProductSum<T>>];

// kRows rows by at most a block of terms.
template <int kRows, class T>
inline void fold_rows(const T* first, std::int64_t step, const VectorElement<T>* x, std::int64_t count,
                      std::int64_t row_at, RowSums<T>& folded) {
  using Sum = ProductSum<T>;
  constexpr int kEach = kRowVectors<Sum>;
  Terms<Sum> sums[kRows];
  each<kRows>([&](auto row) { each<kEach>([&](auto k) { sums[row][k] = VectorOf<Sum>{}; }); });
  const auto add = [&]<bool kWhole>(std::int64_t p,
                                    std::bool_constant<kWhole>) __attribute__((always_inline)) {
    Terms<Sum> right;
    read_terms<kWhole, Sum>(x + p, count - p, right);
    each<kRows>([&](auto row) {
      Terms<Sum> left;
      read_terms<kWhole, Sum>(first + row * step + p, count - p, left);
      each<kEach>([&](auto k) { sums[row][k] = add_product<T>(sums[row][k], left[k], right[k]); });
    });
  };
  std::int64_t p = 0;
  for (; p + kDotLanes <= count; p += kDotLanes) add(p, std::true_type());
  if (p < count) add(p, std::false_type());
  each<kRows>([&](auto row) { folded[row_at + row] = fold_terms<Sum>(sums[row]); });
}

// Up to as many rows as a vector holds.
template <class T>
void fold_block(const T* first, std::int64_t step, const VectorElement<T>* x, std::int64_t rows,
                std::int64_t count, VectorOf<ProductSum<T>>& sums) {
  using Sum = ProductSum<T>;
  constexpr int kRows = std::min(kRowsAtOnce<Sum>, kWidth<Sum>);
  RowSums<T> folded = {};
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) fold_rows<kRows>(first + i * step, step, x, count, i, folded);
  for (; i < rows; ++i) fold_rows<1>(first + i * step, step, x, count, i, folded);
  sums += Lanes<SumOf, Sum>::fold_vectors(folded);
}

template <class T>
void vector_by_rows(const MatrixView<T>& a, const VectorElement<T>* x, VectorElement<T>* y, std::int64_t m,
                    std::int64_t k) {
  using Sum = ProductSum<T>;
  for (std::int64_t i = 0; i < m; i += kWidth<Sum>) {
    const std::int64_t rows = std::min<std::int64_t>(kWidth<Sum>, m - i);
    VectorOf<Sum> sums{};
    for (std::int64_t p = 0; p < k; p += kDotBlock)
      fold_block(a.data + i * a.row + p, a.row, x + p, rows, std::min<std::int64_t>(kDotBlock, k - p), sums);
    for (std::int64_t row = 0; row < rows; ++row) y[i + row] = static_cast<VectorElement<T>>(sums[row]);
  }
}

// ---- Columns whose elements are contiguous ----

// Columns of a matrix of so many bytes are best read in the order of memory, so many bytes of each; but not
// where those that are wanted are so short a part of what lies between them.
inline constexpr std::int64_t kMuch = 2 << 20, kStripBytes = 4 << 10, kShortBytes = 512;

// Lane `lane`, and the one half of the lanes further, of kCount vectors of rows: their sum.
template <int kCount, class T>
[[gnu::always_inline]] inline void add_lane_pair(const T* first, std::int64_t step, const VectorElement<T>* x,
                                                 std::int64_t lane, std::int64_t count,
                                                 VectorOf<ProductSum<T>>* to) {
  using Sum = ProductSum<T>;
  constexpr int kHalf = kDotLanes / 2;
  VectorOf<Sum> low[kCount], high[kCount];
  each<kCount>([&](auto v) { low[v] = high[v] = VectorOf<Sum>{}; });
  std::int64_t p = lane;
  const auto add = [&](VectorOf<Sum>(&sums)[kCount], std::int64_t at) __attribute__((always_inline)) {
    const VectorOf<Sum> right = VectorOf<Sum>{} + factor(x[at]);
    each<kCount>([&](auto v) {
      sums[v] = add_product<T>(sums[v], load_wide<Sum>(factors(first + at * step + v * kWidth<Sum>)), right);
    });
  };
  for (; p + kHalf < count; p += kDotLanes) {
    add(low, p);
    add(high, p + kHalf);
  }
  if (p < count) add(low, p);
  each<kCount>([&](auto v) { to[v] = low[v] + high[v]; });
}

// kCount vectors of rows, from column to column `step` apart.
template <int kCount, class T>
void add_columns(const T* first, std::int64_t step, const VectorElement<T>* x, std::int64_t k,
                 VectorElement<T>* y) {
  using Sum = ProductSum<T>;
  VectorOf<Sum> sums[kCount] = {};
  for (std::int64_t block = 0; block < k; block += kDotBlock) {
    constexpr int kHalf = kDotLanes / 2;
    VectorOf<Sum> lanes[kHalf][kCount];
    for (int lane = 0; lane < kHalf; ++lane)
      add_lane_pair<kCount>(first + block * step, step, x + block, lane,
                            std::min<std::int64_t>(kDotBlock, k - block), lanes[lane]);
    for (int half = kHalf / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane)
        each<kCount>([&](auto v) { lanes[lane][v] += lanes[lane + half][v]; });
    each<kCount>([&](auto v) { sums[v] += lanes[0][v]; });
  }
  for (int v = 0; v < kCount; ++v)
    for (int i = 0; i < kWidth<Sum>; ++i) y[v * kWidth<Sum> + i] = static_cast<VectorElement<T>>(sums[v][i]);
}

// Adds to a lane of some rows what is in columns `apart` elements apart, and asks for what is `ahead`.
template <int kColumns, class T>
[[gnu::always_inline]] inline void add_to_lane(const T* first, std::int64_t apart, std::int64_t ahead,
                                               const VectorElement<T>* x, std::int64_t rows,
                                               ProductSum<T>* lane) {
  using Sum = ProductSum<T>;
  VectorOf<Sum> right[kColumns];
  each<kColumns>([&](auto c) { right[c] = VectorOf<Sum>{} + factor(x[c * kDotLanes]); });
  const auto add = [&](std::int64_t i, const auto& read) __attribute__((always_inline)) {
    auto sum = load(lane + i);
    each<kColumns>([&](auto c) __attribute__((always_inline)) {
      const T* const from = first + c * apart + i;
      prefetch(from + ahead);
      sum = add_product<T>(sum, read(from), right[c]);
    });
    store(lane + i, sum);
  };
  std::int64_t i = 0;
  for (; i + kWidth<Sum> <= rows; i += kWidth<Sum>)
    add(i, [](const T* from) __attribute__((always_inline)) { return load_wide<Sum>(factors(from)); });
  if (i < rows)
    add(i, [=](const T* from)
               __attribute__((always_inline)) { return load_some<Sum>(factors(from), rows - i, Sum{}); });
}

// The same of up to kStripBytes of sums, with all lanes in memory: columns are read in the order of memory,
// each for a while, and some of one lane at a time.
template <class T>
void add_strip(const T* first, std::int64_t step, const VectorElement<T>* x, std::int64_t rows,
               std::int64_t k, VectorElement<T>* y) {
  using Sum = ProductSum<T>;
  constexpr std::int64_t kMost = kStripBytes / sizeof(Sum);
  constexpr int kAtOnce = 4, kColumns = kAtOnce * kDotLanes;
  alignas(kVectorBytes) Sum lanes[kDotLanes * kMost], sums[kMost];
  const std::int64_t width = (rows + kWidth<Sum> - 1) / kWidth<Sum> * kWidth<Sum>;  // of a lane
  std::fill_n(sums, width, Sum{});
  for (std::int64_t block = 0; block < k; block += kDotBlock) {
    std::fill_n(lanes, kDotLanes * width, Sum{});
    const std::int64_t end = std::min<std::int64_t>(block + kDotBlock, k);
    std::int64_t p = block;
    for (; p + kColumns <= end; p += kColumns)
      for (std::int64_t lane = 0; lane < kDotLanes; ++lane)
        add_to_lane<kAtOnce>(first + (p + lane) * step, kDotLanes * step, step, x + p + lane, rows,
                             lanes + lane * width);
    for (std::int64_t lane = 0; p < end; ++p, lane = (lane + 1) % kDotLanes)
      add_to_lane<1>(first + p * step, 0, step, x + p, rows, lanes + lane * width);
    for (std::int64_t half = kDotLanes / 2; half > 0; half /= 2)
      for (std::int64_t i = 0; i < half * width; ++i) lanes[i] += lanes[half * width + i];
    for (std::int64_t i = 0; i < width; ++i) sums[i] += lanes[i];
  }
  for (std::int64_t i = 0; i < rows; ++i) y[i] = static_cast<VectorElement<T>>(sums[i]);
}

// The last rows are computed twice where vectors do not come out even.
template <class T>
void vector_by_columns(const MatrixView<T>& a, const VectorElement<T>* x, VectorElement<T>* y, std::int64_t m,
                       std::int64_t k) {
  constexpr int kOne = kWidth<ProductSum<T>>;
  std::int64_t i = 0;
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
  const bool is_part = m * kItem <= kShortBytes && a.column * kItem > 2 * kShortBytes;
  if (m < kOne || (k * a.column * kItem > kMuch && !is_part)) {
    constexpr std::int64_t kMost = kStripBytes / sizeof(ProductSum<T>);
    for (; i < m; i += kMost) add_strip(a.data + i, a.column, x, std::min(kMost, m - i), k, y + i);
    return;
  }
  const auto each_of = [&](auto count) {
    constexpr int kCount = count;
    for (; i + kCount * kOne <= m; i += kCount * kOne) add_columns<kCount>(a.data + i, a.column, x, k, y + i);
  };
  each_of(std::integral_constant<int, kGroup>{});  // two sums each are half of the registers
  each_of(std::integral_constant<int, kGroup / 2>{});
  for (; i < m; i += kOne) {
    const std::int64_t from = std::min(i, m - kOne);
    add_columns<1>(a.data + from, a.column, x, k, y + from);
  }
}

// ---- Any strides ----

template <class T>
void vector_by_elements(const MatrixView<T>& a, const VectorElement<T>* x, VectorElement<T>* y,
                        std::int64_t m, std::int64_t k) {
  using Sum = ProductSum<T>;
  for (std::int64_t i = 0; i < m; ++i) {
    Sum sum{};
    for (std::int64_t block = 0; block < k; block += kDotBlock) {
      Sum lanes[kDotLanes] = {};
      const std::int64_t end = std::min<std::int64_t>(block + kDotBlock, k);
      for (std::int64_t p = block; p < end; ++p) {
        Sum& lane = lanes[(p - block) % kDotLanes];
        lane = add_one_product<T>(lane, factor(a.data[i * a.row + p * a.column]), factor(x[p]));
      }
      for (int half = kDotLanes / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[half + lane];
      sum += lanes[0];
    }
    y[i] = static_cast<VectorElement<T>>(sum);
  }
}

template <class T>
void vector(const MatrixView<T>& a, const VectorElement<T>* x, VectorElement<T>* y, std::int64_t m,
            std::int64_t k) {
  if (a.column == 1)
    vector_by_rows(a, x, y, m, k);
  else if (a.row == 1)
    vector_by_columns(a, x, y, m, k);
  else
    vector_by_elements(a, x, y, m, k);
}

}  // namespace kiln::cpu::KILN_ISA
