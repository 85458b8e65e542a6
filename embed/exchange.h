// Owns tensors on their way to and from other libraries, as DLPack's structures.
#pragma once

#include "embed/dlpack.h"
#include "tensor/tensor.h"

namespace kiln::embed {

// A tensor of the same elements, which are read-only where the structure or the caller says so. The structure
// is the tensor's from then on; it stays the caller's where this throws OpError (Device, DType, Value), which
// names what is refused.
Tensor tensor_of(DLManagedTensor* lent, bool is_read_only);
Tensor tensor_of(DLManagedTensorVersioned* lent, bool is_read_only);

// The elements of a tensor, for another library. Throws OpError (Autograd, Device, Value).
DLManagedTensor* lent_by(const Tensor& x);
DLManagedTensorVersioned* lent_versioned_by(const Tensor& x);

}  // namespace kiln::embed
