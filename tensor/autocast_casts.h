// Owns the casts of parameters within `autocast`: a weight that several ops take is cast once.
#pragma once

#include "tensor/tensor.h"

namespace kiln::autocast {

/// As ops::to. The elements of a parameter are cast anew only where they were written since, or where the
/// last cast may have been. Each cast is on the tape by itself all the same: the gradients that go back
/// through several of them are added in the dtype of the parameter, as if nothing were kept.
Tensor cast(const Tensor& x, DType dtype);
/// What was kept of this tensor is given to no other op: its memory has become that of a result.
void forget_cast(const Tensor& x);
/// At the end of a scope.
void forget_casts();

}  // namespace kiln::autocast
