// Owns what can be seen of a running program: everything its variables hold, to the bit.
#pragma once

#include <string>

#include "interpreter/interpreter.h"

namespace kiln::testing {

// One line for each variable of the main module. Objects are numbered as they are met, so that equal texts
// mean equal values, the same objects in the same places, and the same sharing of memory.
std::string state_of(interp::Interpreter& interpreter);

}  // namespace kiln::testing
