// Owns tensors on their way: DLPack's as messages have them, and back.
#pragma once

#include "embed/dlpack.h"
#include "ort/frames.h"

namespace kiln::ort {

// The elements of a tensor that the runtime lends. Throws std::runtime_error for one that is not row by row
// on the CPU.
WireTensor to_wire(const DLTensor& lent);
// A tensor that owns its elements; `deleter` frees it.
DLManagedTensor* to_dlpack(const WireTensor& given);
// Writes the elements into the memory of `lent`, and gives a tensor over it that owns nothing. Throws where
// the types differ.
DLManagedTensor* write_over(const DLTensor& lent, const WireTensor& given);

}  // namespace kiln::ort
