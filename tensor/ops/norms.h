// Owns what the kernels of norms ask of their rows.
#pragma once

#include "tensor/op.h"

namespace kiln {

// The attribute `eps`, or the distance from 1 to the next number of what a norm of this dtype is computed in.
double norm_epsilon(const Attrs& attrs, DType dtype);

}  // namespace kiln
