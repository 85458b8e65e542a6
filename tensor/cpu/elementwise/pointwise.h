// Owns applying elementwise rows to plain tensors within kernels: nothing is recorded.
#pragma once

#include <initializer_list>

#include "tensor/ops/scalar.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// Writes what the row gives of the operands to `output`, which may be one of them.
void apply_row(Row row, std::initializer_list<Tensor> inputs, const Tensor& output);

}  // namespace kiln::cpu
