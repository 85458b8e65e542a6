// Owns the parts of a cell: text of the language, with commands of the prompt on lines of their own.
#pragma once

#include <string_view>
#include <vector>

#include "lang/parse.h"

namespace kiln::repl {

// The entries that a cell consists of, as views of it, in order. A line that begins a command (`:type x`,
// `?name`, `!ls`) is an entry where no statement is open before it, with the lines that its own text needs to
// be complete. A transcript with prompts is not looked into: split_pasted (repl/pasted.h) reads those.
std::vector<std::string_view> split_cell(std::string_view cell);

// What the cell is so far: its last part decides.
lang::Completeness cell_completeness(std::string_view cell);

}  // namespace kiln::repl
