// Owns where `cat` and `stack` put each operand, for kernels of all devices: a device gives what copies
// elements.
#pragma once

#include "tensor/backend.h"
#include "tensor/ops/rules.h"

namespace kiln::ops {

// Calls copy(part of the result, operand) for each operand that has elements. The result is contiguous.
template <class Copy>
void join_along(const Tensor& result, Inputs inputs, const Attrs& attrs, const Copy& copy) {
  const auto dim = static_cast<std::size_t>(rules::dim_attr(attrs, "dim", result.rank()));
  Layout piece = result.layout();
  for (const Tensor& input : inputs) {
    if (input.numel() == 0) continue;
    piece.sizes[dim] = input.sizes()[dim];
    copy(Tensor::alias(result, piece), input);
    piece.offset += piece.sizes[dim] * piece.strides[dim];
  }
}

// The same where the operands lie along a dimension of their own.
template <class Copy>
void stack_along(const Tensor& result, Inputs inputs, const Attrs& attrs, const Copy& copy) {
  const int dim = rules::dim_attr(attrs, "dim", result.rank());
  Layout piece = result.layout();
  const Dim stride = piece.strides[static_cast<std::size_t>(dim)];
  piece.sizes.erase(piece.sizes.begin() + dim);
  piece.strides.erase(piece.strides.begin() + dim);
  for (const Tensor& input : inputs) {
    if (input.numel() > 0) copy(Tensor::alias(result, piece), input);
    piece.offset += stride;
  }
}

}  // namespace kiln::ops
