// Owns products of matrices on cards by a kernel of Kiln's own, in the order of the CPU's sums
// (tensor/product_order.h): to the bit for f32, f64 and integers. Halves are added up in f32 and rounded
// once.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cuda {

// Computes the product of operands of any layouts, which `matmul`'s shape rule accepted, into a contiguous
// result. Not of columns and rows, which have nothing to add up (multiplies_pairs in tensor/ops/products.h).
void multiply_in_order(const Tensor& result, const Tensor& x, const Tensor& y);

}  // namespace kiln::cuda
