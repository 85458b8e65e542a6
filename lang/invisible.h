// Owns the names of characters that cannot be seen, so that an error can say which one stands there.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::lang {

// "zero width space (U+200B)"; empty for what can be seen.
std::string invisible_character(std::uint32_t code_point);
// Whether it is a space of some kind, in whose place a plain one can stand.
bool is_foreign_space(std::uint32_t code_point);

}  // namespace kiln::lang
