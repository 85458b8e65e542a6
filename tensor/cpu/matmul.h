// Owns products of tensors on the CPU: batches, broadcasting and half precision, on top of gemm.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// The matrix product of tensors whose types `matmul`'s shape rule accepted. Half-precision operands are
// multiplied in f32 and the result rounded once.
Tensor matmul(const Tensor& a, const Tensor& b);

// Adds `bias`, broadcast, to a contiguous product of the same dtype.
void add_bias(const Tensor& product, const Tensor& bias);

}  // namespace kiln::cpu
