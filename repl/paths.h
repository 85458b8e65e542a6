// Owns the folders of the XDG convention: the only places the prompt writes to on its own.
#pragma once

#include <string>

namespace kiln::repl {

// "$XDG_STATE_HOME/kiln" (default "~/.local/state/kiln"), made with mode 0700 when missing; empty when it
// cannot be.
std::string state_folder();
// "$XDG_CONFIG_HOME/kiln" (default "~/.config/kiln"); not made. Empty when there is no home.
std::string config_folder();
// Makes a folder and those above it, with mode 0700; false when it cannot be.
bool make_folders(const std::string& path);
// Where compiled kernels are kept. It is made if need be; "" when there is none.
std::string kernel_folder();

}  // namespace kiln::repl
