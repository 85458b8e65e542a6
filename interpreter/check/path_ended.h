// Owns what is thrown where one way through a program ends; it is no error of the program.
#pragma once

#include "interpreter/check/machine.h"

namespace kiln::interp::check {

// On its way to where the ways parted, through host functions too: no error that one of them could answer.
struct Machine::PathEnded {};

}  // namespace kiln::interp::check
