// Owns pixels in terminals: which protocol this one speaks, and drawings in it.
#pragma once

#include <optional>
#include <string>

#include "interpreter/plot/drawing.h"

namespace kiln::interp::host {

struct TerminalPictures {
  enum class Protocol { Kitty, Sixel } protocol = Protocol::Kitty;
  int columns = 80;
  int cell_width = 9, cell_height = 18;  // pixels
};
// Asked once, when input and output are both a terminal: it is sent a question that every terminal answers,
// and that names what it knows. Nothing where it shows no pixels or does not answer within a moment, and as
// long as text waits to be read, which would be taken for an answer.
std::optional<TerminalPictures> terminal_pictures();

// What an answer says: kitty's own to its question, or sixels (4) among the attributes of the terminal.
std::optional<TerminalPictures::Protocol> protocol_in(std::string_view answer);

// What shows the drawing where the cursor is, ending in a new line.
std::string picture_escape(const TerminalPictures& terminal, const plot::Drawing& drawing);

}  // namespace kiln::interp::host
