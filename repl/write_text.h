// Owns writing text files so that a reader never sees half of one.
#pragma once

#include <string>
#include <string_view>

namespace kiln::repl {

// Replaces or makes the file at once, keeping an existing file's mode and following links. Throws UserError
// (IOError).
void write_text(const std::string& path, std::string_view text);

// Throws as `write_text` would, before the work whose result is to be written. Changes nothing.
void check_writable(const std::string& path);

}  // namespace kiln::repl
