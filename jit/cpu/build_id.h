// Owns by which build a file was made.
#pragma once

#include <string>

namespace kiln::jit {

// What an ELF file was made of, as its linker noted it (`--build-id`); empty when there is no note.
std::string build_id(const std::string& path);

}  // namespace kiln::jit
