// Owns making code of loop nests by a target: equal nests once, in modules that threads share, and none that
// is kept on disk (jit/pipeline/code_cache.h).
#pragma once

#include "jit/loops/kernel.h"
#include "jit/passes/target.h"

namespace kiln::jit {

struct CompiledNests {
  std::vector<void*> functions;       // by nest
  std::shared_ptr<const Codes> code;  // owns their memory
};

// On all threads. Code knows no sizes and no tensors (jit/loops/code_key.h), so the update of a hundred
// parameters is one function. Throws what the target throws, OpError (Interrupted) when that was asked for
// meanwhile.
CompiledNests compile_nests(const Target& target, std::span<const ScheduledNest> nests);

}  // namespace kiln::jit
