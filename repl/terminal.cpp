#include "repl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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

}  // namespace

bool wants_color(int descriptor) {
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return !dumb() && isatty(descriptor) == 1;
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
