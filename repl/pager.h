// Owns the program that shows long texts at a terminal, a screen at a time.
#pragma once

#include <string>
#include <string_view>

#include "repl/terminal.h"

namespace kiln::repl {

// Would the text and a prompt below it fit on the terminal? Colours take no room.
bool fits_terminal(std::string_view text, Size size);

// $PAGER, else `less` where it is found; "" when there is none, or when $PAGER is empty.
std::string pager_command();

// Shows the text through the command, which has the terminal until it ends. False when it could not be run.
bool show_in_pager(const std::string& command, std::string_view text);

}  // namespace kiln::repl
