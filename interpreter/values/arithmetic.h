// Owns arithmetic on host numbers: Python's rules, and an error where an int would not fit.
#pragma once

#include <cstdint>

#include "interpreter/values/value.h"
#include "lang/ast.h"

namespace kiln::interp {

// Both are numbers (`Value::is_number`; bools count as 0 and 1). Throws UserError: OverflowError, ValueError
// for division by zero and negative shifts, TypeError for bits of floats.
Value negate(std::int64_t v);
Value number_operator(lang::BinaryOp op, const Value& a, const Value& b);

}  // namespace kiln::interp
