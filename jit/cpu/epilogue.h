// Owns epilogues: kernels that take a product piece by piece, while it is in cache, and write over it.
#pragma once

#include <optional>
#include <vector>

#include "jit/cpu/elementwise_kernel.h"
#include "tensor/cpu/products/result_pieces.h"

namespace kiln::jit {

class Epilogue final : public cpu::ResultPieces {
 public:
  // `operands` of the kernel, of which `operands[made]` is to be made.
  Epilogue(const ElementwiseKernel& kernel, const Dims& symbols, std::span<Tensor> operands, std::size_t made)
      : kernel_(kernel), symbols_(symbols), operands_(operands), made_(made) {}

  void begin(const Tensor& product) override;
  void piece(std::int64_t begin, std::int64_t end) override;
  // What the kernel gives, when the product is there.
  Tensors results();

 private:
  const ElementwiseKernel& kernel_;
  const Dims& symbols_;
  std::span<Tensor> operands_;
  std::size_t made_;
  Tensors results_;
  std::optional<ElementwiseKernel::Ready> ready_;  // none when the kernel needs the whole product at once
};

}  // namespace kiln::jit
