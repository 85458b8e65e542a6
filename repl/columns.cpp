#include "repl/columns.h"

#include <algorithm>

#include "repl/prompt_mark.h"
#include "tensor/integers.h"

namespace kiln::repl {

std::string in_columns(const std::vector<std::string>& words, int width) {
  std::size_t longest = 1;
  for (const std::string& word : words) longest = std::max(longest, word.size());
  const std::size_t columns = std::max<std::size_t>(1, static_cast<std::size_t>(width) / (longest + 2));
  const std::size_t rows = ceil_divide(words.size(), columns);
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t i = row; i < words.size(); i += rows) {
      line += words[i];
      if (i + rows < words.size()) line += std::string(longest + 2 - words[i].size(), ' ');
    }
    text += line + "\n";
  }
  return text;
}

namespace {

// Columns of UTF-8 text without wide characters, which documentation does not have.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void wrap_line(std::string& out, std::string_view line, std::size_t width, std::size_t indent,
               std::size_t column) {
  bool first = true;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::size_t word = columns_of(line.substr(0, end));
    if (!first && column + 1 + word > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += line.substr(0, end);
    column += word;
    line.remove_prefix(std::min(end + 1, line.size()));
    first = false;
  }
}

}  // namespace

std::string wrapped(std::string_view text, int width, std::size_t indent, std::size_t taken) {
  std::string out;
  for (bool first = true; first || !text.empty(); first = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!first) out += '\n';
    if (line.starts_with(' ') || prompt_length(line) > 0)
      out += line;
    else
      wrap_line(out, line, static_cast<std::size_t>(std::max(width, 20)), indent, first ? taken : 0);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (text.empty()) out += '\n';
  }
  return out;
}

}  // namespace kiln::repl
