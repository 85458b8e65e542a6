// Owns what a prompt looks like, where one is written and where one is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::repl {

// "kiln 18> "; "kiln> " without a number (0).
std::string prompt_mark(int number);
// "     ... ", as wide as the prompt above it.
std::string continuation_mark(int number);

// How long the prompt is that the line begins with: `>>> `, `kiln> ` or `kiln 18> `, also without its blank
// at the end of a line. 0 when there is none.
std::size_t prompt_length(std::string_view line);

}  // namespace kiln::repl
