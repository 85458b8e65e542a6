// Owns which op an operator of the language is on tensors.
#pragma once

#include <string_view>

#include "tensor/op.h"

namespace kiln {

// By its spelling, `+` or `<=`; null for an operator that no op stands for, such as `in` and `and`. A unary
// operator has one operand.
const Op* operator_on_tensors(std::string_view spelling, int operands);
// The spelling of the operator that stands for an op; empty where none does.
std::string_view operator_of(const Op& op, int operands);

}  // namespace kiln
