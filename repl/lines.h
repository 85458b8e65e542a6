// Owns the lines of a text.
#pragma once

#include <string_view>
#include <vector>

namespace kiln::repl {

// Without their ends. What follows the last end is a line unless it is empty.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace kiln::repl
