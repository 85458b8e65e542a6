// Owns programs that are given as a file: one that was found runs again in every way.
#pragma once

#include <string>

#include "tests/capture/program.h"

namespace kiln::testing {

// Statements end where a line ends outside of brackets. Functions of the top level may be wrapped.
Program given_program(const std::string& path);

// Says what differs in each way, with each backend; true when nothing does.
bool run_in_every_way(Program program);

}  // namespace kiln::testing
