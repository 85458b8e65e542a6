// Owns what an op costs beside its time: the bytes that it reads and writes, and its arithmetic. Both follow
// from types, so that no element is looked at.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/op.h"

namespace kiln {

struct Cost {
  std::int64_t bytes = 0;             // of the elements read and written, each tensor once
  std::optional<std::int64_t> flops;  // operations on elements; nothing where they are not counted
};

// Nothing of an absent tensor.
std::int64_t bytes_of_elements(const Tensor& x);

// Of an op that runs by itself: one operation for each element, two for each product of sums of products.
Cost cost_of(const Op& op, Inputs operands, Inputs results);

}  // namespace kiln
