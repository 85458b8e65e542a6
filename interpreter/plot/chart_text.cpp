// Charts in a terminal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "interpreter/plot/chart.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp::plot {
namespace {

// A grid of cells of 2 x 4 dots.
class Braille {
 public:
  Braille(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {}

  int width() const { return columns_ * 2; }
  int height() const { return rows_ * 4; }

  void dot(int x, int y, std::size_t series) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    static constexpr std::array<std::array<std::uint8_t, 2>, 4> kBits{
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    Cell& cell = cells_[static_cast<std::size_t>(y / 4 * columns_ + x / 2)];
    cell.dots |= kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
    cell.series = series;
  }

  void line(int x0, int y0, int x1, int y1, std::size_t series) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      dot(static_cast<int>(std::lround(x0 + t * (x1 - x0))),
          static_cast<int>(std::lround(y0 + t * (y1 - y0))), series);
    }
  }

  std::string row(int r, bool color) const {
    std::string text;
    for (int c = 0; c < columns_; ++c) {
      const Cell& cell = cells_[static_cast<std::size_t>(r * columns_ + c)];
      if (cell.dots == 0) {
        text += ' ';
        continue;
      }
      const Color rgb = series_color(cell.series);
      if (color) text += fmt::format("\x1b[38;2;{};{};{}m", rgb.red, rgb.green, rgb.blue);
      append_code_point(text, char32_t{0x2800} + cell.dots);
      if (color) text += "\x1b[0m";
    }
    return text;
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;
    std::size_t series = 0;
  };
  int columns_, rows_;
  std::vector<Cell> cells_;
};

void draw_series(Braille& canvas, const Series& series, std::size_t index, const Extent& xs,
                 const Extent& ys) {
  int last_x = 0;
  int last_y = 0;
  bool joined = false;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
      joined = false;
      continue;
    }
    const int x = static_cast<int>(std::lround(xs.share(series.x[i]) * (canvas.width() - 1)));
    const int y = static_cast<int>(std::lround((1 - ys.share(series.y[i])) * (canvas.height() - 1)));
    if (joined) {
      canvas.line(last_x, last_y, x, y, index);
    } else {
      canvas.dot(x, y, index);
    }
    last_x = x;
    last_y = y;
    joined = true;
  }
}

std::string legend(const Chart& chart, bool color) {
  std::string text;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].label.empty()) continue;
    const Color rgb = series_color(i);
    const std::string mark =
        color ? fmt::format("\x1b[38;2;{};{};{}m⠒⠒\x1b[0m", rgb.red, rgb.green, rgb.blue) : "⠒⠒";
    text += fmt::format("{}{} {}", text.empty() ? "" : "  ", mark, chart.series[i].label);
  }
  return text;
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace

std::string draw_text(const Chart& chart, int width, int height, bool color) {
  const Extent xs = x_extent(chart);
  const Extent ys = y_extent(chart);
  const std::string top = tick_text(ys.high);
  const std::string middle = tick_text((ys.low + ys.high) / 2);
  const std::string bottom = tick_text(ys.low);
  const std::size_t margin = std::max({top.size(), middle.size(), bottom.size()});
  const int columns = std::max(width - static_cast<int>(margin) - 2, 10);
  Braille canvas(columns, height);
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_series(canvas, chart.series[i], i, xs, ys);
  std::string text;
  const std::string indent(margin + 2, ' ');
  if (!chart.title.empty()) text += indent + chart.title + "\n";
  for (int r = 0; r < height; ++r) {
    const std::string label = r == 0 ? top : r == height - 1 ? bottom : r == height / 2 ? middle : "";
    std::string row = canvas.row(r, color);
    while (row.ends_with(' ')) row.pop_back();
    text += padded_left(label, margin) + (label.empty() ? " │" : " ┤") + row + "\n";
  }
  std::string axis;
  for (int c = 0; c < columns; ++c) axis += "─";
  text += std::string(margin, ' ') + " └" + axis + "\n";
  const std::string left = tick_text(xs.low);
  const std::string right = tick_text(xs.high);
  const int gap = std::max(columns - static_cast<int>(left.size() + right.size()), 1);
  text += indent + left + std::string(static_cast<std::size_t>(gap), ' ') + right + "\n";
  if (const std::string names = legend(chart, color); !names.empty()) text += indent + names + "\n";
  return text;
}

std::string draw_bars(const Chart& chart, int width) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::vector<double>& counts = chart.series.front().y;
  const double most = std::max(1.0, *std::max_element(counts.begin(), counts.end()));
  std::vector<std::string> labels;
  std::size_t margin = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    labels.push_back(fmt::format("{} … {}", tick_text(chart.edges[i]), tick_text(chart.edges[i + 1])));
    margin = std::max(margin, static_cast<std::size_t>(code_point_count(labels.back())));
  }
  const auto number = static_cast<int>(fmt::format("{:.0f}", most).size());
  const int room = std::max(width - static_cast<int>(margin) - number - 4, 8);
  std::string text = chart.title.empty() ? "" : chart.title + "\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto eighths = static_cast<std::int64_t>(std::lround(counts[i] / most * room * 8));
    std::string bar;
    for (std::int64_t k = 0; k < eighths / 8; ++k) bar += "█";
    bar += kParts[static_cast<std::size_t>(eighths % 8)];
    const std::size_t missing = margin - static_cast<std::size_t>(code_point_count(labels[i]));
    text += fmt::format("{}{} │{}{}{:.0f}\n", std::string(missing, ' '), labels[i], bar,
                        bar.empty() ? "" : " ", counts[i]);
  }
  return text;
}

}  // namespace kiln::interp::plot
