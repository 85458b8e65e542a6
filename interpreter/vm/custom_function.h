// Owns the user's `autograd` functions: their calls at every level, and what forward leaves for backward.
#pragma once

#include "interpreter/interpreter.h"
#include "interpreter/vm/vm.h"

namespace kiln::interp {

// `Name(x, …)` for a statement `autograd Name { … }`, `type` being what it made.
Value call_autograd(Interpreter& interpreter, const Value& type, Arguments& arguments);

}  // namespace kiln::interp
