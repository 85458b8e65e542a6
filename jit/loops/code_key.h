// Owns what the machine code of scheduled nests depends on, as bytes: equal keys, equal code.
#pragma once

#include <span>
#include <string>

#include "jit/loops/schedule.h"

namespace kiln::jit {

// Neither names nor sizes, nor which tensors are read: the same kernel of other tensors is the same code.
// `compiler` tells what makes the code, `processor` what for.
std::string code_key(std::span<const ScheduledNest> nests, std::string_view compiler,
                     std::string_view processor);

}  // namespace kiln::jit
