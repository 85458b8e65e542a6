// Owns calls of cublasLt: descriptions of products, the choice of an algorithm for each, and running it. A
// description is made once in a process, and so is the choice.
#pragma once

#include <compare>
#include <cstdint>

#include "tensor/cuda/context.h"
#include "tensor/dtype.h"

namespace kiln::cuda {

// A batch of matrices as cublasLt reads them: by columns, `leading` elements from one to the next.
struct CublasMatrix {
  bool is_transposed = false;  // before it is multiplied
  std::int64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int64_t stride = 0;  // from one matrix of the batch to the next

  friend auto operator<=>(const CublasMatrix&, const CublasMatrix&) = default;
};

// d = a b for each of the batch, with a bias of an element for each row of d. All elements have one dtype.
struct CublasProduct {
  DType dtype = DType::F32;
  bool is_tf32 = false;  // may elements of f32 be rounded to TF32 before they are multiplied?
  bool has_bias = false;
  std::int64_t batch = 1;
  CublasMatrix a, b, d;

  friend auto operator<=>(const CublasProduct&, const CublasProduct&) = default;
};

// The first elements, at addresses of whole kCublasAlignment.
inline constexpr std::size_t kCublasAlignment = 16;
struct CublasOperands {
  const void *a, *b;
  void* d;
  const void* bias;
};

enum class CublasAnswer : std::uint8_t {
  Given,        // to the stream
  NoAlgorithm,  // for such a product
  NoGaps,       // the algorithm does not take the gaps between the lines of a matrix
};

// Gives the product to the stream, by the algorithm for matrices without gaps, whatever gaps there are: it
// follows from sizes, dtype and transposes alone. Throws OpError (Device, OutOfMemory).
CublasAnswer multiply_by_cublaslt(Context& context, const CublasProduct& product,
                                  const CublasOperands& operands);

}  // namespace kiln::cuda
