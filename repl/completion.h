// Owns what Tab offers: names, fields, keyword arguments, files in strings, commands.
#pragma once

#include <string_view>

#include "repl/line_editor.h"
#include "repl/session.h"

namespace kiln::repl {

// Candidates for the word that ends at `cursor`. Looks things up and runs nothing.
Completion complete(Session& session, std::string_view text, std::size_t cursor);

}  // namespace kiln::repl
