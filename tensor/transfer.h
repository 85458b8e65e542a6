// Owns the kernel that all devices have: the elements of a tensor of any device, as a tensor of this one.
#pragma once

#include "tensor/backend.h"

namespace kiln {

// Copies the elements of `source` to `target`, which is contiguous and has its sizes and dtype.
void transfer(const Tensor& target, const Tensor& source);

// Of the row `transfer`. A KernelFn; the operand may be on any device.
void transfer_elements(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream);

}  // namespace kiln
