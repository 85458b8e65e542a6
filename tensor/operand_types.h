// Owns the types of operands as rules of ops see them.
#pragma once

#include <algorithm>
#include <span>

#include "tensor/op.h"

namespace kiln {

// Numbers are where the tensors are: a rule may give its result the device of any operand.
inline void put_numbers_beside(std::span<TensorType> types) {
  const auto first =
      std::find_if(types.begin(), types.end(), [](const TensorType& each) { return !each.is_number; });
  if (first == types.end() || first->device == Device{}) return;
  for (TensorType& each : types)
    if (each.is_number) each.device = first->device;
}

}  // namespace kiln
