// Owns products of tensors on cards by cublasLt: which of them go there, and how their operands are made
// ready.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cuda {

// Computes the product of operands of any layouts into a contiguous result, plus a bias of its sizes' last
// one (or none), and returns true; or false, where cublasLt is not for it or not here, which is told once.
// What it cannot read, for its layout or its address, is copied first, so that the bits follow from sizes,
// dtype and transposes alone.
bool multiply_by_library(const Tensor& result, const Tensor& x, const Tensor& y, const Tensor& bias,
                         bool is_tf32);

}  // namespace kiln::cuda
