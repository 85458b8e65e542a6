// Owns what `??name` shows of an op: its row in the op table, in words and as the table has it.
#pragma once

#include <string>

#include "interpreter/values/value.h"
#include "tensor/op.h"

namespace kiln::repl {

// What computes it, its derivative, its batching rule, and what the compiler makes of it; of an elementwise
// row with the text of the function of one element.
std::string row_text(const Op& op);
// Of all ops that a function of the language is; empty for other values.
std::string rows_of(const interp::Value& function);

}  // namespace kiln::repl
