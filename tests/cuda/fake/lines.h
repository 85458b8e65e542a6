// Owns the lines of compiled kernels: which one an instruction is of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::fake {

// Reads a section .debug_line of DWARF 4 (dwarfstd.org, section 6.2 of that version). Gives file and line of
// the instruction at this offset of the library's beginning, as "test.cu:3"; "" where none is known.
std::string line_at(std::string_view table, std::uint64_t offset);

}  // namespace kiln::fake
