// Owns the kernel that all devices have: the elements of a tensor of any device, as a tensor of this one.
#pragma once

#include "tensor/backend.h"

namespace kiln {

// Of the row `transfer`. A KernelFn; the operand may be on any device.
void transfer_elements(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs, Stream& stream);

}  // namespace kiln
