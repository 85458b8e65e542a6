// Owns what dtypes and combinations are called in the text of kernels.
#pragma once

#include "tensor/dtype.h"
#include "tensor/fixed_order.h"

namespace kiln::cuda {

const char* element_name(DType dtype);
const char* combine_name(cpu::Combine combine);

}  // namespace kiln::cuda
