// Owns our own matrix kernels, compiled once per instruction set.
#include <algorithm>

#include "tensor/cpu/isa/vector_products.h"
#include "tensor/cpu/product_kernels.h"

namespace kiln::cpu::KILN_ISA {
namespace {

constexpr int kColumns = 16;

template <class T, bool kWhole>
void row_piece(const T* a, std::int64_t step, const T* b, std::int64_t ldb, T* c, int width, std::int64_t k,
               bool accumulate) {
  using Sum = ProductSum<T>;
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
