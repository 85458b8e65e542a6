// Owns where each character of an entry stands on the screen: rows, wraps, colours, the cursor's place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "repl/highlight.h"

namespace kiln::repl {

// What is to be seen.
struct View {
  std::string_view prompt;        // before the first line
  std::string_view continuation;  // before the others
  std::string_view text;
  std::size_t cursor = 0;  // byte offset in text
  std::string_view hint;   // grey text after the end, of which one row is shown
  bool color = false;
  bool show_pair = true;  // mark the bracket at the cursor and its partner
};

// Rows without line ends, as bytes for the terminal, and where the cursor belongs.
struct Screen {
  std::vector<std::string> rows;
  std::vector<int> widths;         // columns each row takes
  std::vector<bool> is_continued;  // does the next row go on with the same line, as this one is full?
  int cursor_row = 0;
  int cursor_column = 0;
};

// Columns that one code point takes: 2 for wide ones, 0 for combining ones; control characters show as "^A".
int column_width(char32_t point);

// Splits one UTF-8 sequence off `text`; an invalid byte is U+FFFD of length 1.
struct CodePoint {
  char32_t value;
  std::size_t length;
};
CodePoint next_code_point(std::string_view text);

Screen lay_out(const View& view, int columns);

// The bytes that bring a terminal from a drawn screen, whose cursor is in row `from_row` of it, to `screen`.
// Rows that go on are left to the terminal's own wrapping, so that it wraps them anew when its size changes.
// Of a screen higher than `height` only the part around the cursor is drawn. `drawn_row` becomes the cursor's
// row.
std::string draw(const Screen& screen, int from_row, int height, int columns, int& drawn_row);

// The bytes that bring the cursor to the begin of a row: what was printed last may have left it within one.
// Then a mark stands there, and the row below begins.
std::string to_row_begin(int columns, bool color);

}  // namespace kiln::repl
