// Owns what two sets come to: their operators and comparisons. Results keep the order of the left set, then
// that of the right one.
#pragma once

#include "interpreter/values/value.h"
#include "lang/ast.h"

namespace kiln::interp {

bool is_set_operator(lang::BinaryOp op);  // `|`, `&`, `-` or `^`
Value set_operator(lang::BinaryOp op, Set& a, Set& b);

// `<=` and its kin: whether one set holds all items of the other.
bool sets_ordered(lang::CompareOp op, Set& a, Set& b);

bool is_subset(Set& a, Set& b);  // all items of `a` are in `b`
Value copy_of(Set& set);

}  // namespace kiln::interp
