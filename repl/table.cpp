#include "repl/table.h"

#include <algorithm>

#include "repl/terminal.h"

namespace kiln::repl {
namespace {

// Columns that a text takes: every byte but those that go on with a letter.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::string>& words,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::string blanks(widths[k] - display_width(words[k]), ' ');
    line += (k == 0 ? "" : "  ") + (columns[k].is_number ? blanks + words[k] : words[k] + blanks);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                       bool color) {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    titles.push_back(columns[k].title);
    widths.push_back(display_width(columns[k].title));
    for (const auto& row : rows) widths[k] = std::max(widths[k], display_width(row[k]));
  }
  std::string text = paint(line_of(columns, titles, widths), style::kFaint, color) + "\n";
  for (const auto& row : rows) text += line_of(columns, row, widths) + "\n";
  return text;
}

}  // namespace kiln::repl
