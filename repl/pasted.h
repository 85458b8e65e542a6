// Owns the reading of pasted transcripts: prompts are stripped, printed results are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::repl {

// Text whose first line begins with a prompt (">>> ", "kiln> ", "kiln 18> ") is a transcript: gives its
// entries, without the continuation prompts and without the lines a program had printed. Any other text is
// one entry, unchanged.
std::vector<std::string> split_pasted(std::string_view text);

}  // namespace kiln::repl
