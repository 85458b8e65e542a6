// Owns the end of one way through a program: an error that is none of the program for certain.
#pragma once

#include "interpreter/check/machine.h"

namespace kiln::interp::check {

// On its way to where the ways parted, through host functions too: no error that one of them could answer.
struct Machine::PathEnded {};

}  // namespace kiln::interp::check
