// Owns the CPU's target: loop nests become machine code by LLVM, and threads run it.
#pragma once

#include "jit/passes/target.h"

namespace kiln::jit {

const Target& cpu_target();

}  // namespace kiln::jit
