#include "interpreter/host/terminal_pictures.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

#include "interpreter/plot/png_data.h"
#include "interpreter/plot/raster.h"
#include "interpreter/plot/sixel.h"
#include "interpreter/shadow.h"

namespace kiln::interp::host {
namespace {

// Kitty's question, whether it would take one pixel, and the one for the attributes of a terminal, which all
// answer.
constexpr std::string_view kQuestion = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";
constexpr int kPatience = 300;  // milliseconds

// Input arrives at once and is not echoed, for a scope.
class RawInput {
 public:
  RawInput() {
    is_set_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    is_set_ = is_set_ && ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  ~RawInput() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

 private:
  termios before_{};
  bool is_set_ = false;
};

// Up to the `c` that ends the attributes.
std::string answer_of_terminal() {
  const RawInput raw;
  if (::write(STDOUT_FILENO, kQuestion.data(), kQuestion.size()) != static_cast<ssize_t>(kQuestion.size()))
    return {};
  std::string answer;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (::poll(&input, 1, kPatience) == 1) {
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) break;
    answer += byte;
    if (byte == 'c' && answer.rfind("\x1b[?") != std::string::npos) break;
  }
  return answer;
}

bool is_asked() {
  const char* const terminal = std::getenv("TERM");
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return false;
  return terminal != nullptr && std::string_view(terminal) != "dumb" && !std::getenv("NO_COLOR");
}

std::optional<TerminalPictures> with_size(TerminalPictures::Protocol protocol) {
  TerminalPictures found{protocol};
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return found;
  found.columns = size.ws_col;
  if (size.ws_xpixel > 0 && size.ws_ypixel > 0) {
    found.cell_width = std::max(1, size.ws_xpixel / size.ws_col);
    found.cell_height = std::max(1, size.ws_ypixel / size.ws_row);
  }
  return found;
}

}  // namespace

std::optional<TerminalPictures::Protocol> protocol_in(std::string_view answer) {
  if (answer.find("\x1b_Gi=31;OK") != std::string_view::npos) return TerminalPictures::Protocol::Kitty;
  const std::size_t begin = answer.rfind("\x1b[?");
  if (begin == std::string_view::npos || !answer.ends_with('c')) return std::nullopt;
  // "ESC [ ? 62 ; 4 ; 22 c": the first number is the kind of terminal.
  std::string_view attributes = answer.substr(begin + 3, answer.size() - begin - 4);
  for (bool is_first = true; !attributes.empty(); is_first = false) {
    const std::size_t end = std::min(attributes.find(';'), attributes.size());
    if (!is_first && attributes.substr(0, end) == "4") return TerminalPictures::Protocol::Sixel;
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return std::nullopt;
}

std::optional<TerminalPictures> terminal_pictures() {
  static std::optional<std::optional<TerminalPictures::Protocol>> protocol;
  if (!protocol) {
    if (!is_asked()) return std::nullopt;
    shadow::leave();
    int waiting = 0;
    if (::ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting > 0) return std::nullopt;
    protocol = protocol_in(answer_of_terminal());
  }
  return *protocol ? with_size(**protocol) : std::nullopt;
}

std::string picture_escape(const TerminalPictures& terminal, const plot::Drawing& drawing) {
  const std::vector<std::uint8_t> rgb = plot::raster().pixels(drawing);
  if (terminal.protocol == TerminalPictures::Protocol::Sixel)
    return plot::sixels(plot::raster().indexed(drawing.width, drawing.height, rgb)) + "\n";
  return plot::kitty_picture(plot::png_bytes(drawing.width, drawing.height, rgb)) + "\n";
}

}  // namespace kiln::interp::host
