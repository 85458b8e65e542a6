// Owns how the page of a name reads in an editor.
#pragma once

#include <string>

#include "repl/documentation.h"

namespace kiln::editor {

// Signatures as code, the kind, sentences, examples as code, notes as a list. Markdown.
std::string markdown(const repl::Page& page);
// A piece of Kiln as a block of code.
std::string code_block(std::string_view code);

}  // namespace kiln::editor
