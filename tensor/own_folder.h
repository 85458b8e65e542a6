// Owns the answer to where Kiln's own files are: beside the program, or beside the shared library that is
// part of another program.
#pragma once

#include <filesystem>

namespace kiln {

// The folder of the file that this code was loaded from, without links; empty where the system does not tell.
std::filesystem::path own_folder();

}  // namespace kiln
