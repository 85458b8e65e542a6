// Owns the target of cards of CUDA.
#pragma once

#include "jit/passes/target.h"

namespace kiln::jit {

const Target& cuda_target();

}  // namespace kiln::jit
