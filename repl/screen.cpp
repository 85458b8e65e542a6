#include "repl/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cwchar>

#include "repl/terminal.h"

namespace kiln::repl {
namespace {

int width_of(std::string_view text) {
  int width = 0;
  for (; !text.empty(); text.remove_prefix(next_code_point(text).length))
    width += column_width(next_code_point(text).value);
  return width;
}

class Layout {
 public:
  Layout(Screen& screen, int columns, bool color) : screen_(screen), columns_(columns), color_(color) {
    add_row();
  }

  void style(std::string_view style) {
    if (!color_ || style == style_) return;
    screen_.rows.back() += style_.empty() ? "" : style::kReset;
    screen_.rows.back() += style;
    style_ = style;
  }

  // One code point's bytes, or what stands for them.
  void put(std::string_view bytes, int width) {
    if (screen_.widths.back() + width > columns_) wrap();
    screen_.rows.back() += bytes;
    screen_.widths.back() += width;
  }

  void put_text(std::string_view text) {
    while (!text.empty()) {
      const CodePoint point = next_code_point(text);
      put_point(point.value, text.substr(0, point.length));
      text.remove_prefix(point.length);
    }
  }

  // The first line of a text, as far as this row has room; "…" stands for the rest.
  void put_on_row(std::string_view text) {
    const std::size_t end = text.find('\n');
    const std::string line =
        end == std::string_view::npos ? std::string(text) : std::string(text.substr(0, end)) + " …";
    const int room = columns_ - screen_.widths.back();
    if (width_of(line) <= room) return put_text(line);
    std::string_view rest = line;
    for (int left = room - 1; left > 0;) {
      const CodePoint point = next_code_point(rest);
      left -= column_width(point.value);
      if (left < 0) break;
      put_text(rest.substr(0, point.length));
      rest.remove_prefix(point.length);
    }
    if (room > 0) put_text("…");
  }

  void put_point(char32_t point, std::string_view bytes) {
    if (point == U'\t') return put("    ", 4);
    if (point < 0x20 || point == 0x7f) {
      const char shown[] = {'^', static_cast<char>(point ^ 0x40)};
      return put({shown, 2}, 2);
    }
    if (point == 0xfffd && bytes.size() == 1) return put("\xef\xbf\xbd", 1);
    put(bytes, column_width(point));
  }

  void new_row() {
    const std::string_view kept = style_;
    style({});
    add_row();
    style(kept);
  }

  void wrap() {
    screen_.is_continued.back() = screen_.widths.back() == columns_;
    new_row();
  }

  // The cursor stands before what comes next; a full row sends it to the next one.
  void mark_cursor() {
    if (screen_.widths.back() >= columns_) wrap();
    screen_.cursor_row = static_cast<int>(screen_.rows.size()) - 1;
    screen_.cursor_column = screen_.widths.back();
  }

 private:
  void add_row() {
    screen_.rows.emplace_back();
    screen_.widths.push_back(0);
    screen_.is_continued.push_back(false);
  }

  Screen& screen_;
  int columns_;
  bool color_;
  std::string_view style_;
};

class Styles {
 public:
  explicit Styles(const View& view) {
    if (!view.color) return;
    runs_ = highlight(view.text);
    if (view.show_pair) pair_ = matching_bracket(view.text, view.cursor);
  }
  // Offsets are asked for in ascending order.
  std::string_view at(std::size_t offset) {
    if (offset == pair_.partner || (offset == pair_.at && pair_.partner != std::string_view::npos)) {
      return style::kMatch;
    }
    while (next_ < runs_.size() && runs_[next_].end <= offset) ++next_;
    return next_ < runs_.size() && runs_[next_].begin <= offset ? runs_[next_].style : std::string_view();
  }

 private:
  std::vector<StyledRun> runs_;
  BracketPair pair_;
  std::size_t next_ = 0;
};

void put_lines(Layout& layout, std::string_view text) {
  for (bool first = true;; first = false) {
    if (!first) layout.new_row();
    const std::size_t end = std::min(text.find('\n'), text.size());
    layout.put_text(text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

int column_width(char32_t point) {
  const int width = wcwidth(static_cast<wchar_t>(point));
  return width < 0 ? 1 : width;
}

CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return {0xfffd, 1};
  char32_t point = length == 1 ? lead : lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {0xfffd, 1};
    point = (point << 6) | (byte(i) & 0x3fU);
  }
  return {point, length};
}

Screen lay_out(const View& view, int columns) {
  Screen screen;
  Layout layout(screen, columns, view.color);
  layout.style(style::kPrompt);
  put_lines(layout, view.prompt);
  Styles styles(view);
  for (std::size_t at = 0; at < view.text.size();) {
    const std::string_view rest = view.text.substr(at);
    const CodePoint point = next_code_point(rest);
    if (at == view.cursor) layout.mark_cursor();
    if (point.value == U'\n') {
      layout.new_row();
      layout.style(style::kFaint);
      layout.put_text(view.continuation);
    } else {
      layout.style(styles.at(at));
      layout.put_point(point.value, rest.substr(0, point.length));
    }
    at += point.length;
  }
  layout.style({});
  if (view.cursor >= view.text.size()) layout.mark_cursor();
  layout.style(view.hint.empty() ? std::string_view() : style::kFaint);
  layout.put_on_row(view.hint);
  layout.style({});
  return screen;
}

std::string draw(const Screen& screen, int from_row, int height, int columns, int& drawn_row) {
  const int rows = static_cast<int>(screen.rows.size());
  const int first = std::max(0, std::min(screen.cursor_row - height + 1, rows - height));
  const int last = std::min(rows, first + height);
  std::string out = "\x1b[?25l\r";
  if (from_row > 0) out += fmt::format("\x1b[{}A", from_row);
  for (int row = first; row < last; ++row) {
    const auto i = static_cast<std::size_t>(row);
    // A blank makes the terminal wrap, and is written over.
    if (row > first) out += screen.is_continued[i - 1] ? " \r" : "\r\n";
    out += screen.rows[i];
    // Erasing after a full row would take its last character on some terminals.
    if (screen.widths[i] < columns) out += "\x1b[K";
  }
  out += last < rows || screen.widths[static_cast<std::size_t>(last) - 1] < columns ? "\x1b[J" : "";
  if (const int up = last - 1 - screen.cursor_row; up > 0) out += fmt::format("\x1b[{}A", up);
  out += '\r';
  if (screen.cursor_column > 0) out += fmt::format("\x1b[{}C", screen.cursor_column);
  drawn_row = screen.cursor_row - first;
  return out + "\x1b[?25h";
}

// After the mark as many blanks as fill a row: from within a row they reach into the next one, from its begin
// they do not.
std::string to_row_begin(int columns, bool color) {
  return paint("⏎", style::kFaint, color) +
         std::string(static_cast<std::size_t>(std::max(columns - 1, 0)), ' ') + "\r\x1b[K";
}

}  // namespace kiln::repl
