// Owns the end of one way through a program: an error that is none of the program for certain.
#pragma once

#include "interpreter/check/machine.h"

namespace kiln::interp::check {

// On its way to where the ways parted, through host functions too.
struct Machine::PathEnded : lang::UserError {
  PathEnded() : lang::UserError({"Error", "this way through the program ends here", {}, "", {}}) {}
};

}  // namespace kiln::interp::check
