// Owns how kernels on cards get operands in order, and memory to work in.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cuda {

// A contiguous copy, or `x` itself.
Tensor in_order(const Tensor& x);
// Memory of a card that is given back to it with the tensor: what was launched before has it until then.
Tensor scratch(std::int64_t bytes, Device device);
// The element at a place of a contiguous tensor, as a tensor of the host. For errors that tell an element
// that was refused: they are made while others wait for their copies.
Tensor element_on_host(const Tensor& x, std::int64_t at);

}  // namespace kiln::cuda
