// Owns the operators on tensors: which op each stands for, with host numbers as operands.
#pragma once

#include "interpreter/values/value.h"
#include "lang/ast.h"

namespace kiln::interp {

// At least one operand is a tensor. Throws OpError, whose operands are 0 and 1; TypeError when the other
// operand is neither tensor nor number.
Value tensor_binary(lang::BinaryOp op, const Value& a, const Value& b);
Value tensor_compare(lang::CompareOp op, const Value& a, const Value& b);
Value tensor_unary(lang::UnaryOp op, const Value& x);
// Writes into `target`, a tensor.
void tensor_augmented(lang::BinaryOp op, const Value& target, const Value& value);
bool tensor_contains(const Value& x, const Value& item);

}  // namespace kiln::interp
