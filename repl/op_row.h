// Owns what `??name` shows of an op: its row in the op table, in words and as the table has it.
#pragma once

#include <string>

#include "tensor/op.h"

namespace kiln::repl {

// What computes it, its derivative, its batching rule, and what the compiler makes of it; of an elementwise
// row with the text of the function of one element.
std::string row_text(const Op& op);

}  // namespace kiln::repl
