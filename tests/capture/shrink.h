// Owns making a failing program small.
#pragma once

#include <functional>

#include "tests/capture/program.h"

namespace kiln::testing {

// Leaves out statements, unwraps blocks and cuts arguments and operands while `fails` holds.
Program shrunk(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace kiln::testing
