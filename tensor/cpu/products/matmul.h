// Owns products of tensors on the CPU: batches, broadcasting and half precision, on top of gemm.
#pragma once

#include <optional>

#include "tensor/cpu/products/result_pieces.h"
#include "tensor/ops/products.h"

namespace kiln::cpu {

// Writes the matrix product to `result`, which is contiguous, of tensors whose types `matmul`'s shape rule
// accepted. Half-precision operands are multiplied in f32 and the result rounded once: on the processor's
// tiles (see tensor/cpu/products/tile_product.h), vectors by own kernels, large ones of bf16 by the library's
// (see tensor/cpu/products/onednn_product.h). They are not handed out in pieces.
void matmul(const Tensor& result, const Tensor& a, const Tensor& b, ResultPieces* pieces = nullptr);

// A product of operands that lie alike in every call, wherever that is: what `matmul` finds out of their
// layouts is known.
class PlacedProduct {
 public:
  // Of f32 and f64, as `matmul` computes them. Nothing: of other dtypes, of columns and rows, and where there
  // are no elements.
  static std::optional<PlacedProduct> of(const Tensor& a, const Tensor& b);
  // The first elements of the operands, and of the result, which is contiguous.
  struct Places {
    const std::byte *a, *b;
    std::byte* result;
  };
  // Of several only where the left operand is a vector: the bits are those of one after the other.
  void run(std::span<const Places> each) const;

 private:
  template <class T>
  void multiply_at(std::span<const Places> each) const;

  DType dtype_ = DType::F32;
  std::int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  struct Strides {
    std::int64_t row = 0, column = 0;
  };
  Strides a_, b_;
  SmallVector<std::int64_t, 1> left_, right_;  // where matrices start, in elements
};

// Adds `bias`, broadcast, to a contiguous product of the same dtype.
void add_bias(const Tensor& product, const Tensor& bias);

// Adds a bias to each piece of a product before it is handed on.
class BiasPieces final : public ResultPieces {
 public:
  BiasPieces(const Tensor& bias, ResultPieces& next) : bias_(bias), next_(next) {}
  void begin(const Tensor& result) override;
  void piece(std::int64_t begin, std::int64_t end) override;

 private:
  const Tensor& bias_;
  ResultPieces& next_;
  Tensor result_, rows_;
};

}  // namespace kiln::cpu
