#include "repl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kiln::repl {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool dumb() {
  const std::string_view term = environment("TERM");
  return term.empty() || term == "dumb";
}

// Terminals with links, by how they make themselves known. tmux passes links on, or leaves them out where the
// terminal around it has none.
constexpr std::array<std::string_view, 6> kLinkingPrograms{"iTerm.app", "WezTerm", "vscode",
                                                           "ghostty",   "Hyper",   "tmux"};
constexpr std::array<std::string_view, 5> kLinkingTerminals{"xterm-kitty", "xterm-ghostty", "alacritty",
                                                            "foot", "contour"};
constexpr std::array<const char*, 5> kLinkingVariables{"VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION",
                                                       "DOMTERM", "KONSOLE_VERSION"};

template <std::size_t N>
bool is_named(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool wants_color(int descriptor) {
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return !dumb() && isatty(descriptor) == 1;
}

bool shows_links(int descriptor) {
  if (!wants_color(descriptor) || isatty(descriptor) != 1 || dumb()) return false;
  const std::string_view force = environment("FORCE_HYPERLINK");
  if (!force.empty()) return force != "0";
  return is_named(environment("TERM_PROGRAM"), kLinkingPrograms) ||
         is_named(environment("TERM"), kLinkingTerminals) ||
         std::any_of(kLinkingVariables.begin(), kLinkingVariables.end(),
                     [](const char* name) { return !environment(name).empty(); });
}

bool is_smart_terminal(int descriptor) { return !dumb() && isatty(descriptor) == 1; }

Size terminal_size(int descriptor) {
  Size size;
  winsize window{};
  if (ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    size.columns = window.ws_col;
    if (window.ws_row > 0) size.rows = window.ws_row;
  }
  return size;
}

std::string paint(std::string_view text, std::string_view with, bool color) {
  if (!color || text.empty()) return std::string(text);
  return std::string(with) + std::string(text) + std::string(style::kReset);
}

}  // namespace kiln::repl
