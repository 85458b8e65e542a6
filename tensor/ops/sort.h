// Owns what the kernel of searchsorted asks of its row.
#pragma once

#include "tensor/op.h"

namespace kiln {

// Is the place behind equal elements wanted? Throws OpError (Value) for attributes that contradict each
// other.
bool searches_right(const Attrs& attrs);
// The sequence in the order of its sorter, where there is one.
Tensor ordered_sequence(const Tensor& sequence, const Tensor& sorter);
// In which both are compared. A number is a float as those of the sequence are: 0.1 is among f32 what f32
// makes of it. Integers are compared as they are.
DType search_dtype(const Tensor& sequence, const Tensor& values);

}  // namespace kiln
