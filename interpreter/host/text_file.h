// Owns reading and writing of files that `open` gave.
#pragma once

#include <string>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

// Opens a path; IOError says why not, and names a near file when there is one.
Value open_file(const std::string& path, const std::string& mode);
// One line with its newline; false at the end. IOError for a closed or unreadable file.
bool read_line(File& file, std::string& line);

}  // namespace kiln::interp::host
