// Owns our own matrix kernels, compiled once per instruction set.
#include <algorithm>

#include "tensor/cpu/product_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// Sums of integers wrap, which signed C++ arithmetic does not.
template <class T>
struct SumFor {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct SumFor<T> {
  using type = std::make_unsigned_t<decltype(T{} + T{})>;
};
template <class T>
using SumOf = typename SumFor<T>::type;

constexpr int kColumns = 16;

template <class T, bool kWhole>
void row_piece(const T* a, std::int64_t step, const T* b, std::int64_t ldb, T* c, int width, std::int64_t k,
               bool accumulate) {
  using Sum = SumOf<T>;
  Sum sum[kColumns] = {};
  if (accumulate) std::copy_n(c, width, sum);
  const int count = kWhole ? kColumns : width;
  for (std::int64_t p = 0; p < k; ++p) {
    const Sum left = static_cast<Sum>(a[p * step]);
    for (int lane = 0; lane < count; ++lane) sum[lane] += left * static_cast<Sum>(b[p * ldb + lane]);
  }
  for (int lane = 0; lane < width; ++lane) c[lane] = static_cast<T>(sum[lane]);
}

template <class T>
void rows(const MatrixView<T>& a, const T* b, std::int64_t ldb, T* c, std::int64_t ldc, std::int64_t m,
          std::int64_t n, std::int64_t k, bool accumulate) {
  for (std::int64_t i = 0; i < m; ++i) {
    const T* row = a.data + i * a.row;
    std::int64_t j = 0;
    for (; j + kColumns <= n; j += kColumns) {
      row_piece<T, true>(row, a.column, b + j, ldb, c + i * ldc + j, kColumns, k, accumulate);
    }
    if (j < n)
      row_piece<T, false>(row, a.column, b + j, ldb, c + i * ldc + j, static_cast<int>(n - j), k, accumulate);
  }
}

// Adds up lanes that lie `width` apart, `width` sums side by side.
template <class Sum>
void tree(Sum* lanes, std::int64_t width) {
  for (int half = kDotLanes / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half * width; ++i) lanes[i] += lanes[half * width + i];
  }
}

template <class T>
T dot(const T* a, const T* b, std::int64_t count) {
  using Sum = SumOf<T>;
  Sum lanes[kDotLanes] = {};
  std::int64_t i = 0;
  for (; i + kDotLanes <= count; i += kDotLanes) {
    for (int lane = 0; lane < kDotLanes; ++lane) {
      lanes[lane] += static_cast<Sum>(a[i + lane]) * static_cast<Sum>(b[i + lane]);
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
  tree(lanes, 1);
  return static_cast<T>(lanes[0]);
}

// Rows that are not contiguous are worked on side by side.
constexpr std::int64_t kSide = 64;

template <class T>
void vector_by_columns(const MatrixView<T>& a, const T* x, T* y, std::int64_t m, std::int64_t k) {
  using Sum = SumOf<T>;
  Sum lanes[kDotLanes * kSide];
  Sum total[kSide];
  for (std::int64_t i = 0; i < m; i += kSide) {
    const std::int64_t side = std::min(kSide, m - i);
    std::fill_n(total, side, Sum{});
    for (std::int64_t block = 0; block < k; block += kDotBlock) {
      const std::int64_t end = std::min(block + kDotBlock, k);
      std::fill_n(lanes, kDotLanes * side, Sum{});
      for (std::int64_t p = block; p < end; ++p) {
        const T* column = a.data + i * a.row + p * a.column;
        const Sum right = static_cast<Sum>(x[p]);
        Sum* sum = lanes + (p - block) % kDotLanes * side;
        if (a.row == 1) {
          for (std::int64_t r = 0; r < side; ++r) sum[r] += static_cast<Sum>(column[r]) * right;
        } else {
          for (std::int64_t r = 0; r < side; ++r) sum[r] += static_cast<Sum>(column[r * a.row]) * right;
        }
      }
      tree(lanes, side);
      for (std::int64_t r = 0; r < side; ++r) total[r] += lanes[r];
    }
    for (std::int64_t r = 0; r < side; ++r) y[i + r] = static_cast<T>(total[r]);
  }
}

template <class T>
void vector(const MatrixView<T>& a, const T* x, T* y, std::int64_t m, std::int64_t k) {
  using Sum = SumOf<T>;
  if (a.column != 1) {
    vector_by_columns(a, x, y, m, k);
    return;
  }
  for (std::int64_t i = 0; i < m; ++i) {
    Sum total{};
    for (std::int64_t p = 0; p < k; p += kDotBlock) {
      total += static_cast<Sum>(dot(a.data + i * a.row + p, x + p, std::min(kDotBlock, k - p)));
    }
    y[i] = static_cast<T>(total);
  }
}

// Without their sign, subnormal numbers are those from 1 to the largest fraction.
bool has_subnormal(const BFloat16* x, std::int64_t count) {
  constexpr std::uint16_t kFractions = 0x7f;
  std::uint16_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto before = static_cast<std::uint16_t>((x[i].bits & 0x7fff) - 1);  // 0 comes last
    found |= before < kFractions ? 1 : 0;
  }
  return found != 0;
}

void pair(const BFloat16* __restrict even, const BFloat16* __restrict odd, BFloat16* __restrict to,
          std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[2 * i].bits = even[i].bits;
    to[2 * i + 1].bits = odd[i].bits;
  }
}

template <class T>
constexpr ProductKernels<T> kKernelsOf{rows<T>, dot<T>, vector<T>};

constexpr ProductTable kTable{kKernelsOf<std::uint8_t>,
                              kKernelsOf<std::int8_t>,
                              kKernelsOf<std::int16_t>,
                              kKernelsOf<std::int32_t>,
                              kKernelsOf<std::int64_t>,
                              kKernelsOf<float>,
                              kKernelsOf<double>,
                              has_subnormal,
                              pair};

}  // namespace

const ProductTable& product_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
