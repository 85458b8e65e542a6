// Owns what the kernels of matrix products ask of their rows.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace kiln {

// Whether operands of these sizes are columns and rows, whose products `matmul` gives one by one: as `mul`
// does, to the bit.
inline bool multiplies_pairs(std::span<const Dim> a, std::span<const Dim> b) {
  return a.size() > 1 && b.size() > 1 && a.back() == 1;
}

// Throws OpError (Shape, DType) unless the bias of `linear` fits the result. Whether a bias is there shows
// only in the inputs, not in their types.
void check_bias(const Tensor& bias, const TensorType& result);

}  // namespace kiln
