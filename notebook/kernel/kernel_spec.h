// Owns how Jupyter finds the kernel.
#pragma once

#include <string>

namespace kiln::notebook {

// Writes the description of this program into the folder of kernels, "kernels/kiln" below it, and gives the
// path of the description. Throws UserError (IOError).
std::string install_kernel(const std::string& data_folder);

// Where the user's own Jupyter looks: $JUPYTER_DATA_DIR, else "jupyter" below $XDG_DATA_HOME, else below
// ~/.local/share. Empty when there is no home.
std::string user_data_folder();

}  // namespace kiln::notebook
