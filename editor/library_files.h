// Owns files of the standard library for editors, which show files alone: the library's text is in the
// program.
#pragma once

#include <string>

namespace kiln::editor {

// The file with this text of the library, "nn_linear" of "<nn_linear>", below the user's cache folder. It is
// written when it is not there, and cannot be changed by mistake. "" where no file can be written.
std::string library_file(const std::string& name, const std::string& text);

}  // namespace kiln::editor
