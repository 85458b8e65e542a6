// Owns writing text files so that a reader never sees half of one.
#pragma once

#include <string>
#include <string_view>

namespace kiln::repl {

// Replaces or makes the file at once, keeping an existing file's mode and following links. Throws UserError
// (IOError).
void write_text(const std::string& path, std::string_view text);

}  // namespace kiln::repl
