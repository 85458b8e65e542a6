// Owns what is known of the terminal: whether text may be coloured, its size, and the colours of the prompt.
#pragma once

#include <string>
#include <string_view>

namespace kiln::repl {

// May text on this descriptor carry colour? NO_COLOR wins over CLICOLOR_FORCE, which wins over what the
// descriptor is; "TERM=dumb" and anything that is not a terminal are plain.
bool wants_color(int descriptor);

// Does the terminal on this descriptor show links (OSC 8)? Those that are known to do, where text may carry
// colour; FORCE_HYPERLINK=1 or 0 decides for others.
bool shows_links(int descriptor);

// Can the cursor be moved on it? False for pipes and for TERM=dumb.
bool is_smart_terminal(int descriptor);

struct Size {
  int columns = 80;
  int rows = 24;
};
Size terminal_size(int descriptor);

// Select graphic rendition sequences, by meaning. Only the 16 basic colours, so that they suit any theme.
namespace style {
inline constexpr std::string_view kReset = "\x1b[0m";
inline constexpr std::string_view kPrompt = "\x1b[1;34m";
inline constexpr std::string_view kFaint = "\x1b[90m";
inline constexpr std::string_view kHeading = "\x1b[1m";
inline constexpr std::string_view kCode = "\x1b[36m";
inline constexpr std::string_view kAdded = "\x1b[32m";
inline constexpr std::string_view kRemoved = "\x1b[31m";
inline constexpr std::string_view kMatch = "\x1b[1;4m";
inline constexpr std::string_view kMismatch = "\x1b[1;31m";
}  // namespace style

// `text` in a style, or as it is when colour is off.
std::string paint(std::string_view text, std::string_view with, bool color);

}  // namespace kiln::repl
