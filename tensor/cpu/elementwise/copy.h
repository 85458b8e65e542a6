// Owns moving elements on the CPU: copies between layouts and dtypes, and fills.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// Writes `source`, broadcast to the sizes of `target` and cast to its dtype (floats to integers truncate),
// into `target`. The two may overlap: all of `source` is read first.
void copy(const Tensor& target, const Tensor& source);

// Writes one number, cast, into every element.
void fill(const Tensor& target, const Tensor& number);

// A new contiguous tensor of `dtype` with the elements of `source`.
Tensor contiguous_copy(const Tensor& source, DType dtype);

}  // namespace kiln::cpu
