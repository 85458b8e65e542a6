// Owns what ops on channels (dimension 1) share: their shapes.
#pragma once

#include "tensor/ops/reduced.h"

namespace kiln::ops {

// Throws OpError unless x is a float [n, channels, ...].
void need_channels(const TensorType& x, const Attrs& attrs, int operand);
// Throws OpError unless v is absent or has one number per channel of x; `what` names it.
void check_per_channel(const TensorType& v, const TensorType& x, const Attrs& attrs, int operand,
                       const char* what);
Dims all_but_channels(int rank);
// [channels] so that it broadcasts against x, in x's dtype.
Tensor per_channel(const Tensor& v, const Tensor& x);

}  // namespace kiln::ops
