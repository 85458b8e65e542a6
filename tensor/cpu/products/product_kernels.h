// Owns the table of our own matrix kernels of every instruction set: small, narrow and integer products.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/cpu/isa.h"
#include "tensor/dtype.h"
#include "tensor/product_order.h"

namespace kiln::cpu {

// A matrix in memory: element (i, j) is at data[i * row + j * column].
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t row;
  std::int64_t column;
};

template <class T>
struct ProductKernels {
  // c = a b, or c += a b: each element added up in the order of k. Rows of `b` are contiguous.
  void (*rows)(const MatrixView<T>& a, const T* b, std::int64_t ldb, T* c, std::int64_t ldc, std::int64_t m,
               std::int64_t n, std::int64_t k, bool accumulate);
  // y = a x for `m` rows of any strides and a contiguous `x`, in the order of ProductOrder::Lanes, so that
  // layouts do not matter.
  void (*vector)(const MatrixView<T>& a, const T* x, T* y, std::int64_t m, std::int64_t k);
};

// y = a x likewise; of halves x and y are f32, as their sums are.
template <class T>
using HalfVectorFn = void (*)(const MatrixView<T>& a, const float* x, float* y, std::int64_t m,
                              std::int64_t k);

struct ProductTable {
  ProductKernels<std::uint8_t> u8;
  ProductKernels<std::int8_t> i8;
  ProductKernels<std::int16_t> i16;
  ProductKernels<std::int32_t> i32;
  ProductKernels<std::int64_t> i64;
  ProductKernels<float> f32;
  ProductKernels<double> f64;
  HalfVectorFn<Half> f16_vector;
  HalfVectorFn<BFloat16> bf16_vector;

  template <class T>
  const ProductKernels<T>& of() const {
    if constexpr (std::is_same_v<T, std::uint8_t>) return u8;
    if constexpr (std::is_same_v<T, std::int8_t>) return i8;
    if constexpr (std::is_same_v<T, std::int16_t>) return i16;
    if constexpr (std::is_same_v<T, std::int32_t>) return i32;
    if constexpr (std::is_same_v<T, std::int64_t>) return i64;
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
  }
};

}  // namespace kiln::cpu

KILN_ISA_TABLE(ProductTable, product_kernels)
