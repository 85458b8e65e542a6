// Owns which loop nests become the same machine code: code knows no sizes and no tensors, so the update of a
// hundred parameters is compiled once.
#pragma once

#include "jit/compiler.h"

namespace kiln::jit {

// Equal for nests whose code is the same.
std::string code_key(const LoopNest& nest);

// As `compile`, each code once. Functions are by loop nest, as ever.
CompiledKernels compile_each_once(std::span<const LoopNest> nests);

}  // namespace kiln::jit
