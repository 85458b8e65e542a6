// Owns what the machine code of loop nests depends on, as bytes: equal keys, equal code.
#pragma once

#include <span>
#include <string>

#include "jit/loops/loops.h"

namespace kiln::jit {

// Neither names nor sizes, nor which tensors are read: the same kernel of other tensors is the same code.
// `compiler` tells what makes the code, `processor` what for.
std::string code_key(std::span<const LoopNest> nests, std::string_view compiler, std::string_view processor);

// What an ELF file was made of, as its linker noted it (`--build-id`); empty when there is no note.
std::string build_id(const std::string& path);

}  // namespace kiln::jit
