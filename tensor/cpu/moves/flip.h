// Owns reversed copies on the CPU.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// A contiguous copy with the order along `dims` (wrapped, unique) reversed.
Tensor flip(const Tensor& x, std::span<const Dim> dims);

}  // namespace kiln::cpu
