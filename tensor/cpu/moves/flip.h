// Owns reversed copies on the CPU.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// Copies x to the contiguous `result` with the order along `dims` (wrapped, unique) reversed.
void flip(const Tensor& result, const Tensor& x, std::span<const std::int64_t> dims);

}  // namespace kiln::cpu
