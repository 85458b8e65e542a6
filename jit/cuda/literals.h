// Owns constants of loop nests as CUDA C++ says them, to the bit.
#pragma once

#include <string>

#include "jit/loops/loops.h"

namespace kiln::jit {

// The fields of a function's parameters that are not as in every other application.
std::string params_text(const Params& params);
std::string constant_text(const Instruction& step);

}  // namespace kiln::jit
