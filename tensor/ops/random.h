// Owns what is known of random ops for those who make their numbers a part at a time.
#pragma once

#include <optional>

#include "tensor/cpu/random.h"
#include "tensor/op.h"

namespace kiln {

// Does the op make each element by itself from one draw, whatever its operands' elements are?
bool draws_each_element(const Op& op);
// The numbers of such an op.
cpu::Distribution distribution_of(const Op& op, const Attrs& attrs);

}  // namespace kiln
