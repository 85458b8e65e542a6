#include "lang/snippet.h"

#include <algorithm>

#include "lang/utf8.h"

namespace kiln::lang {

const Palette kPlain{};
const Palette kColored{"\x1b[1;31m", "\x1b[1m", "\x1b[1;34m", "\x1b[34m", "\x1b[36m", "\x1b[0m"};

namespace {

constexpr int kTabWidth = 4;
constexpr int kWindow = 110;  // columns of a long line that are shown
constexpr int kBefore = 40;   // of these, how many before the first mark

// A source line as it is drawn: tabs as spaces, what cannot be drawn as a replacement character.
class DrawnLine {
 public:
  explicit DrawnLine(std::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      const CodePoint point = decode_utf8(line, i);
      Cell cell{static_cast<std::uint32_t>(i), width_, {}};
      if (point.value == '\t') {
        cell.text.assign(static_cast<std::size_t>(kTabWidth - width_ % kTabWidth), ' ');
        width_ += static_cast<int>(cell.text.size());
      } else if (point.value == kBadCodePoint || point.value < 0x20 ||
                 (point.value >= 0x7F && point.value < 0xA0)) {
        cell.text = "\uFFFD";
        ++width_;
      } else {
        cell.text = line.substr(i, point.length);
        width_ += display_width(point.value);
      }
      cells_.push_back(std::move(cell));
      i += point.length;
    }
    bytes_ = static_cast<std::uint32_t>(line.size());
  }

  int width() const { return width_; }
  // The column at which the character of a byte is drawn.
  int column(std::uint32_t byte) const {
    if (byte >= bytes_) return width_;
    const auto next =
        std::upper_bound(cells_.begin(), cells_.end(), byte,
                         [](std::uint32_t value, const Cell& cell) { return value < cell.byte; });
    return std::prev(next)->column;
  }
  // What lies between two columns.
  std::string between(int first, int last) const {
    std::string out;
    for (const Cell& cell : cells_) {
      if (cell.column >= first && cell.column < last) out += cell.text;
    }
    return out;
  }

 private:
  struct Cell {
    std::uint32_t byte;
    int column;
    std::string text;
  };
  std::vector<Cell> cells_;
  std::uint32_t bytes_ = 0;
  int width_ = 0;
};

struct PlacedMark {
  int column;
  int width;
  bool primary;
  std::string_view text;
};

std::string painted(std::string_view color, std::string_view text, const Palette& palette) {
  std::string out(color);
  out += text;
  if (!color.empty()) out += palette.reset;
  return out;
}

// Fills `row` with spaces up to a column; false when it is past it already.
bool pad(std::string& row, int& at, int column) {
  if (column < at) return false;
  row.append(static_cast<std::size_t>(column - at), ' ');
  at = column;
  return true;
}

std::string mark_row(const std::vector<PlacedMark>& marks, const Palette& palette) {
  std::string row;
  int at = 0;
  for (const PlacedMark& mark : marks) {
    const int hidden = std::max(0, at - mark.column);  // under a mark before it
    if (hidden >= mark.width) continue;
    pad(row, at, mark.column + hidden);
    // One column is always a caret; a wide place that is not the primary one is underlined.
    const char sign = mark.primary || mark.width == 1 ? '^' : '-';
    const std::string signs(static_cast<std::size_t>(mark.width - hidden), sign);
    row += painted(mark.primary ? palette.kind : palette.secondary, signs, palette);
    at += static_cast<int>(signs.size());
  }
  return row;
}

// One row per text that did not fit beside the marks, from the right; bars lead down to those further left.
std::vector<std::string> text_rows(std::vector<PlacedMark> marks, const Palette& palette) {
  std::vector<std::string> rows;
  while (!marks.empty()) {
    const PlacedMark last = marks.back();
    marks.pop_back();
    std::string row;
    int at = 0;
    for (const PlacedMark& left : marks) {
      if (left.column >= last.column || !pad(row, at, left.column)) continue;
      row += painted(left.primary ? palette.kind : palette.secondary, "|", palette);
      ++at;
    }
    pad(row, at, last.column);
    row += painted(last.primary ? palette.kind : palette.secondary, last.text, palette);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Of a very long line only the neighbourhood of the first mark is looked at.
struct LinePart {
  std::string_view text;
  std::uint32_t begin;  // where it lies in the file
  bool cut_left = false;
  bool cut_right = false;
};

LinePart relevant_part(const SourceFile& file, std::uint32_t line, std::uint32_t around) {
  constexpr std::uint32_t kReach = 4 * kWindow;  // in bytes; no character has more than four
  const std::string_view text = file.line(line);
  const std::uint32_t start = file.line_start(line);
  const std::uint32_t at = std::min(around - start, static_cast<std::uint32_t>(text.size()));
  const auto is_middle = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t first = at > kReach ? at - kReach : 0;
  while (first > 0 && is_middle(first)) --first;
  std::size_t last = std::min(text.size(), std::size_t{at} + kReach);
  while (last < text.size() && is_middle(last)) ++last;
  return {text.substr(first, last - first), start + static_cast<std::uint32_t>(first), first > 0,
          last < text.size()};
}

std::vector<PlacedMark> place(const std::vector<Mark>& marks, const DrawnLine& drawn, const LinePart& part) {
  const auto size = static_cast<std::uint32_t>(part.text.size());
  const auto inside = [&](std::uint32_t offset) {
    return offset < part.begin ? 0 : std::min(offset - part.begin, size);
  };
  std::vector<PlacedMark> placed;
  for (const Mark& mark : marks) {
    const Span& span = mark.label->span;
    const int column = drawn.column(inside(span.begin));
    const int width = std::max(1, drawn.column(inside(span.end)) - column);
    placed.push_back({column, width, mark.primary, mark.label->text});
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.column < b.column; });
  return placed;
}

// Cuts a long line to a window that begins before the first mark, and moves the marks with it.
std::string cut_to_window(const DrawnLine& drawn, const LinePart& part, std::vector<PlacedMark>& placed) {
  const bool cut = drawn.width() > kWindow;
  const int first = cut ? std::max(0, std::min(placed.front().column - kBefore, drawn.width() - kWindow)) : 0;
  const int last = cut ? std::min(drawn.width(), first + kWindow) : drawn.width();
  std::string shown = drawn.between(first, last);
  const bool more_left = first > 0 || part.cut_left;
  if (more_left) shown.insert(0, "…");
  if (last < drawn.width() || part.cut_right) shown += "…";
  for (PlacedMark& mark : placed) {
    const int end = std::min(mark.column + mark.width, last + 1);
    mark.column = std::min(mark.column, last);
    mark.width = std::max(1, end - mark.column);
    mark.column += (more_left ? 1 : 0) - first;
  }
  return shown;
}

}  // namespace

std::string draw_snippet(const SourceFile& file, std::uint32_t line, const std::vector<Mark>& marks,
                         int gutter, const Palette& palette) {
  const LinePart part = relevant_part(file, line, marks.front().label->span.begin);
  const DrawnLine drawn(part.text);
  std::vector<PlacedMark> placed = place(marks, drawn, part);
  const std::string shown = cut_to_window(drawn, part, placed);

  const std::string number = std::to_string(line);
  const std::string blank(static_cast<std::size_t>(gutter), ' ');
  const std::string rule = painted(palette.frame, blank + " |", palette);
  const std::string counted = blank.substr(number.size()) + number;
  std::string out = rule + "\n" + painted(palette.frame, counted + " |", palette);
  out += (shown.empty() ? "" : " " + shown) + "\n";

  std::string row = mark_row(placed, palette);
  std::vector<PlacedMark> texts;
  std::copy_if(placed.begin(), placed.end(), std::back_inserter(texts),
               [](const auto& m) { return !m.text.empty(); });
  // The last text stands beside the marks if nothing is to its right.
  if (!texts.empty() && texts.back().column == placed.back().column) {
    row += " " + painted(texts.back().primary ? palette.kind : palette.secondary, texts.back().text, palette);
    texts.pop_back();
  }
  out += rule + " " + row + "\n";
  for (const std::string& each : text_rows(std::move(texts), palette)) out += rule + " " + each + "\n";
  return out;
}

}  // namespace kiln::lang
