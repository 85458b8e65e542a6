// Owns what the kernels that place elements along one dimension share.
#pragma once

#include "tensor/op.h"
#include "tensor/ops/put.h"

namespace kiln::cpu {

inline std::int64_t size_along(const Tensor& x, int dim) { return x.rank() == 0 ? 1 : x.size(dim); }

// The source of a scatter, input 2, in the dtype of the tensor: one number as many as the index wants. Throws
// OpError (Overflow) when the number does not fit.
Tensor scatter_source(const Op& op, Inputs inputs);
// `number`, which fits, as many as `sizes` say.
Tensor repeated_number(const Tensor& number, DType dtype, const IntDims& sizes);

}  // namespace kiln::cpu
