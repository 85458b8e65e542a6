// Owns what the bodies of elementwise rows are tried on.
#pragma once

#include <vector>

#include "tensor/op.h"

namespace kiln::testing {

// One tensor for each operand of a row, all of one size: every combination of the numbers at the edges of the
// dtype, its bit patterns, all of them where they are few, and numbers of usual sizes. The same for each
// call.
std::vector<Tensor> inputs_of(const Op& op, DType dtype);

}  // namespace kiln::testing
