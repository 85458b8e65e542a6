// Owns the distinct elements of a tensor as code of the tensor library asks for them.
#pragma once

#include "tensor/op.h"

namespace kiln {

// The distinct elements in ascending order, and for each element of x which of them it is, i64 of x's shape.
Tensors unique_with_places(const Tensor& x);

}  // namespace kiln
