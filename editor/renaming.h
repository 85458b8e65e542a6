// Owns giving a variable another name without changing what the program means.
#pragma once

#include <string>
#include <vector>

#include "editor/analysis.h"
#include "editor/mistake.h"

namespace kiln::editor {

// Can it be the name of a variable?
bool is_name(const std::string& text);
// In order of place. What is imported keeps its name where it comes from: `from nn import Linear as Layer`.
std::vector<Replacement> renaming(const Analysis& analysis, const Symbol& symbol, const std::string& name);
// Does each name of the text mean the same variable after the replacements?
bool keeps_meaning(const Analysis& analysis, const std::vector<Replacement>& replacements);

}  // namespace kiln::editor
