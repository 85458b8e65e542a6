// Owns running Graphviz.
#pragma once

#include <string>

namespace kiln::repl {

// Draws a text for Graphviz; the ending of the path says what it makes. Throws UserError (IOError) where
// Graphviz is not installed or cannot write the file.
void draw(const std::string& text, const std::string& path);

}  // namespace kiln::repl
