// Owns tensors on their way to and from other libraries, as DLPack's structures.
#pragma once

#include "embed/dlpack.h"
#include "tensor/tensor.h"

namespace kiln::embed {

// A tensor of the same elements. The structure is the tensor's from then on; it stays the caller's where this
// throws OpError (Device, DType, Value), which names what is refused.
Tensor tensor_of(DLManagedTensor* lent);
Tensor tensor_of(DLManagedTensorVersioned* lent);

// The elements of a tensor, for another library. Throws OpError (Autograd, Device, Value).
DLManagedTensor* lent_by(const Tensor& x);
DLManagedTensorVersioned* lent_versioned_by(const Tensor& x);

}  // namespace kiln::embed
