// Bars and pictures in a terminal.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "interpreter/plot/figure_text.h"
#include "interpreter/plot/text_canvas.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp::plot {
namespace {

// Names of an axis, or the ranges.
std::vector<std::string> bar_names(const Panel& panel, const Bars& bars) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < bars.spans.size(); ++i) {
    const Extent& span = bars.spans[i];
    names.push_back(i < panel.x.names.size() ? panel.x.names[i].second
                                             : fmt::format("{:.4g} … {:.4g}", span.low, span.high));
  }
  return names;
}

std::string blocks(std::int64_t eighths) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  for (std::int64_t k = 0; k < eighths / 8; ++k) bar += "█";
  bar += kParts[static_cast<std::size_t>(eighths % 8)];
  return bar;
}

}  // namespace

std::string bars_text(const Panel& panel, const Bars& bars, int width, bool color) {
  const std::vector<std::string> names = bar_names(panel, bars);
  std::vector<std::string> numbers;
  int margin = 0;
  std::size_t widest = 0;
  double most = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    margin = std::max(margin, static_cast<int>(code_point_count(names[i])));
    numbers.push_back(fmt::format("{:.6g}", bars.heights[i]));
    widest = std::max(widest, numbers.back().size());
    if (std::isfinite(bars.heights[i])) most = std::max(most, bars.heights[i]);
  }
  const int room = std::max(width - margin - static_cast<int>(widest) - 4, 8);
  std::string text = panel.title.empty() ? "" : panel.title + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_shown = std::isfinite(bars.heights[i]) && most > 0;
    const std::string bar = is_shown ? blocks(std::lround(bars.heights[i] / most * room * 8)) : "";
    const auto missing = static_cast<std::size_t>(margin - static_cast<int>(code_point_count(names[i])));
    text += fmt::format("{}{} │{}{}{}\n", std::string(missing, ' '), names[i],
                        color && !bar.empty() ? foreground(bars.color) + bar + std::string(kPlain) : bar,
                        bar.empty() ? "" : " ", numbers[i]);
  }
  return text;
}

std::string picture_text(const Picture& picture, int width, bool color) {
  // A cell is about twice as high as it is wide: with halves of cells pixels are squares, else two cells are
  // one.
  const int columns = std::min(picture.width * (color ? 1 : 2), width);
  const int pixels = color ? columns : std::max(columns / 2, 1);
  const int lines = std::clamp(picture.height * pixels / picture.width, 1, picture.height);
  const int rows = color ? (lines + 1) / 2 : lines;
  TextCanvas canvas(columns, rows);
  const Box box{0, 0, static_cast<double>(canvas.width()), color ? lines * 2.0 : lines * 4.0};
  canvas(Image{box, picture.width, picture.height, picture.rgb});
  std::string text;
  for (int r = 0; r < rows; ++r) {
    std::string row = canvas.row(r, color);
    if (!color) row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace kiln::interp::plot
