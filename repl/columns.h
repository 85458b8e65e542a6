// Owns the setting of text to a width: short words in columns, sentences in lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

// Down the columns, as `ls` does; every line ends in a newline.
std::string in_columns(const std::vector<std::string>& words, int width);

// Breaks lines between words so that they fit; lines that go on are indented. Code (lines that begin with
// blanks or a prompt) stays as it is. `taken`: columns used before the first line.
std::string wrapped(std::string_view text, int width, std::size_t indent = 0, std::size_t taken = 0);

}  // namespace kiln::repl
