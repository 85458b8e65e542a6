// Owns the answer to where Kiln's own files are: beside the program, or beside the shared library that is
// part of another program.
#pragma once

#include <filesystem>
#include <string>

namespace kiln {

// The folder of the file that this code was loaded from, without links; empty where the system does not tell.
std::filesystem::path own_folder();

// A library of Kiln's that is opened at run time: beside Kiln itself, where it is installed, else where it
// was built, which is given. So an installed Kiln never opens what a later build has made.
std::string own_library(const std::string& built);

}  // namespace kiln
