#include "jit/loops/code_line.h"

#include <algorithm>

namespace kiln::jit {

std::string text_of(const CodeLines& lines) {
  std::string text;
  for (const CodeLine& each : lines) text += each.text + "\n";
  return text;
}

CodeLines lines_of(std::string_view text) {
  CodeLines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({.text = std::string(text.substr(0, end))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace kiln::jit
