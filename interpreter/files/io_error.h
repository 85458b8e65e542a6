// Owns the error of a file that the system does not let us use.
#pragma once

#include <string>
#include <string_view>

namespace kiln::interp::host {

// "cannot read 'x.csv': No such file or directory", with a near name as help.
[[noreturn]] void raise_io(std::string_view action, const std::string& path, int error);

}  // namespace kiln::interp::host
