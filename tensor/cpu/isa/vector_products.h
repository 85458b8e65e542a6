// Owns products of a matrix and a vector: each element is added up in kDotLanes lanes (element p of a block
// in lane p % kDotLanes) and then a tree, whatever the strides, so that layouts do not matter. Included only
// by files that are compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cpu/isa/vectors.h"
#include "tensor/cpu/prefetch.h"
#include "tensor/cpu/product_kernels.h"

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

// ---- Rows whose elements are contiguous ----

template <class Sum>
inline constexpr int kRowVectors = kDotLanes / kWidth<Sum>;
// Rows side by side, so that no sum waits for another; half of the registers hold sums.
template <class Sum>
inline constexpr int kRowsAtOnce = std::max(1, 2 * kGroup / kRowVectors<Sum>);

// Of each row and `x`, at most a block: its lanes, folded until one vector is left.
template <int kRows, class T>
inline void fold_rows(const T* first, std::int64_t step, const VectorElement<T>* x, std::int64_t count,
                      VectorOf<ProductSum<T>>* folded) {
  using Sum = ProductSum<T>;
  constexpr int kEach = kRowVectors<Sum>;
  VectorOf<Sum> acc[kRows][kEach];
  each<kRows>([&](auto row) { each<kEach>([&](auto k) { acc[row][k] = VectorOf<Sum>{}; }); });
  std::int64_t p = 0;
  for (; p + kDotLanes <= count; p += kDotLanes) {
    each<kEach>([&](auto k) {
      const std::int64_t at = p + k * kWidth<Sum>;
      const auto right = load_wide<Sum>(factors(x + at));
      each<kRows>([&](auto row) { acc[row][k] += load_wide<Sum>(factors(first + row * step + at)) * right; });
    });
  }
  each<kEach>([&](auto k) {
    const std::int64_t at = p + k * kWidth<Sum>;
    const std::int64_t some = count - at;
    if (some <= 0) return;
    const auto read = [=](const auto* from) __attribute__((always_inline)) {
      return some >= kWidth<Sum> ? load_wide<Sum>(factors(from)) : load_some<Sum>(factors(from), some, Sum{});
    };
    const auto right = read(x + at);
    each<kRows>([&](auto row) { acc[row][k] += read(first + row * step + at) * right; });
  });
  each<kRows>([&](auto row) {
#pragma GCC unroll 8
    for (int half = kEach / 2; half >= 1; half /= 2)
      for (int k = 0; k < half; ++k) acc[row][k] += acc[row][k + half];
    folded[row] = acc[row][0];
  });
}

// As many rows as a vector holds, or fewer.
template <class T>
VectorOf<ProductSum<T>> fold_block(const T* first, std::int64_t step, const VectorElement<T>* x,
                                   std::int64_t rows, std::int64_t count) {
  using Sum = ProductSum<T>;
  constexpr int kRows = std::min(kRowsAtOnce<Sum>, kWidth<Sum>);
  VectorOf<Sum> folded[kWidth<Sum>] = {};
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) fold_rows<kRows>(first + i * step, step, x, count, folded + i);
  for (; i < rows; ++i) fold_rows<1>(first + i * step, step, x, count, folded + i);
  return Lanes<SumOf, Sum>::fold_vectors(folded);
}

template <class T>
void vector_by_rows(const MatrixView<T>& a, const VectorElement<T>* x, VectorElement<T>* y, std::int64_t m,
                    std::int64_t k) {
  using Sum = ProductSum<T>;
  for (std::int64_t i = 0; i < m; i += kWidth<Sum>) {
    const std::int64_t rows = std::min<std::int64_t>(kWidth<Sum>, m - i);
    VectorOf<Sum> sums{};
    for (std::int64_t p = 0; p < k; p += kDotBlock)
      sums += fold_block(a.data + i * a.row + p, a.row, x + p, rows, std::min(kDotBlock, k - p));
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
    const auto right = factor(x[at]);
    each<kCount>(
        [&](auto v) { sums[v] += load_wide<Sum>(factors(first + at * step + v * kWidth<Sum>)) * right; });
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
      add_lane_pair<kCount>(first + block * step, step, x + block, lane, std::min(kDotBlock, k - block),
                            lanes[lane]);
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
  Sum right[kColumns];
  each<kColumns>([&](auto c) { right[c] = factor(x[c * kDotLanes]); });
  const auto add = [&](std::int64_t i, const auto& read) __attribute__((always_inline)) {
    auto sum = load(lane + i);
    each<kColumns>([&](auto c) __attribute__((always_inline)) {
      const T* const from = first + c * apart + i;
      prefetch(from + ahead);
      sum += read(from) * right[c];
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
    const std::int64_t end = std::min(block + kDotBlock, k);
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
      const std::int64_t end = std::min(block + kDotBlock, k);
      for (std::int64_t p = block; p < end; ++p)
        lanes[(p - block) % kDotLanes] += factor(a.data[i * a.row + p * a.column]) * factor(x[p]);
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
