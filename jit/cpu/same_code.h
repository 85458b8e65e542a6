// Owns that equal code is compiled once: it knows no sizes and no tensors (jit/cpu/code_key.h), so the update
// of a hundred parameters is one function.
#pragma once

#include "jit/cpu/compiler.h"

namespace kiln::jit {

// As `compile`, but compiles equal code once. Functions are by loop nest.
CompiledKernels compile_each_once(std::span<const LoopNest* const> nests);

}  // namespace kiln::jit
