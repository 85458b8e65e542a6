#include "repl/pager.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "repl/lines.h"
#include "repl/screen.h"
#include "tensor/interrupt.h"

namespace kiln::repl {
namespace {

constexpr char kEscape = '\x1b';
constexpr int kNotFound = 127;  // the shell's exit code for a command that is not there

// Of the sequence that the text begins with: colours end with a letter, links with BEL or ESC \.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']') {
    const std::size_t end = text.find_first_of("\x07\x1b", 2);
    if (end == std::string_view::npos) return text.size();
    return end + (text[end] == kEscape ? 2 : 1);
  }
  const std::size_t end = text.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

int width_of(std::string_view line) {
  int width = 0;
  while (!line.empty()) {
    if (line.front() == kEscape) {
      line.remove_prefix(std::min(sequence_length(line), line.size()));
      continue;
    }
    const CodePoint point = next_code_point(line);
    width += column_width(point.value);
    line.remove_prefix(point.length);
  }
  return width;
}

bool is_found(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + std::string(program);
    if (access(file.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool fits_terminal(std::string_view text, Size size) {
  int rows = 0;
  for (const std::string_view line : lines_of(text)) {
    rows += 1 + std::max(0, width_of(line) - 1) / std::max(size.columns, 1);
    if (rows >= size.rows) return false;
  }
  return true;
}

std::string pager_command() {
  const char* chosen = std::getenv("PAGER");
  if (chosen != nullptr) return chosen;
  return is_found("less") ? "less" : "";
}

// The text is in memory as a file, which the pager has as its input: it may end before it has read all, and
// nothing has to be written to it meanwhile.
bool show_in_pager(const std::string& command, std::string_view text) {
  const int file = memfd_create("kiln", 0);
  if (file < 0) return false;
  bool is_shown = write_all(file, text) && lseek(file, 0, SEEK_SET) == 0;
  if (is_shown) {
    // Colours are shown, a screen that is not full ends it, and the text stays on the terminal.
    const std::string line = "export LESS=\"${LESS-RFX}\" LESSCHARSET=\"${LESSCHARSET-utf-8}\"; { " +
                             command + "; } < /proc/self/fd/" + std::to_string(file);
    const int status = std::system(line.c_str());
    is_shown = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) != kNotFound;
    // Ctrl-C was for the pager.
    interrupt_requested.store(false);
  }
  close(file);
  return is_shown;
}

}  // namespace kiln::repl
