// Owns what dtypes, types of the arithmetic, rows and combinations are called in the text of kernels.
#pragma once

#include "tensor/dtype.h"
#include "tensor/fixed_order.h"
#include "tensor/pointwise_params.h"

namespace kiln::cuda {

const char* element_name(DType dtype);
const char* compute_name(Compute compute);
const char* row_name(int row);  // of an elementwise row, in the namespace `scalar`
const char* combine_name(cpu::Combine combine);

}  // namespace kiln::cuda
