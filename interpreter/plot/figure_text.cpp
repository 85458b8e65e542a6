#include "interpreter/plot/figure_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "interpreter/plot/layout.h"
#include "interpreter/plot/marks.h"
#include "interpreter/plot/scale.h"
#include "interpreter/plot/text_canvas.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp::plot {
namespace {

constexpr int kLeastColumns = 10;
constexpr std::string_view kBetween = "  ";  // panels

int columns_of(std::string_view text) { return static_cast<int>(code_point_count(text)); }
std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

// Lines of one width once `padded`; `columns` does not count escape sequences.
struct TextLine {
  std::string text;
  int columns = 0;
};
using TextBlock = std::vector<TextLine>;

TextLine plain_line(std::string text) {
  const int columns = columns_of(text);
  return {std::move(text), columns};
}

class PanelText {
 public:
  PanelText(const Panel& panel, int width, int height, bool color)
      : panel_(panel), height_(height), color_(color), reach_(reach_of(panel, 0)) {
    y_ = ruler(panel.y, reach_.y, height * 4 - 1, 0);
    y_ticks_ = ticks(panel.y, y_, std::max(height / 4, 2));
    for (const Tick& tick : y_ticks_) margin_ = std::max(margin_, columns_of(tick.text));
    columns_ = std::max(width - margin_ - 2, kLeastColumns);
    x_ = ruler(panel.x, reach_.x, 0, columns_ * 2 - 1);
    x_ticks_ = ticks(panel.x, x_, std::max(columns_ / 12, 1));
  }

  TextBlock run() {
    heading();
    cells();
    numbers();
    if (!panel_.x.label.empty()) add(blanks((columns_ - columns_of(panel_.x.label)) / 2) + panel_.x.label);
    if (panel_.color_bar) color_bar();
    legend();
    return std::move(block_);
  }

 private:
  static Ruler ruler(const Axis& axis, const Extent& extent, double from, double to) {
    return axis.is_reversed ? Ruler{extent, axis.is_log, to, from} : Ruler{extent, axis.is_log, from, to};
  }

  // A line that begins where the cells do.
  void add(const std::string& text) { block_.push_back(plain_line(blanks(margin_ + 2) + text)); }

  void heading() {
    if (!panel_.title.empty()) add(panel_.title);
    if (!panel_.y.label.empty()) block_.push_back(plain_line(blanks(margin_ + 1) + panel_.y.label));
  }

  void cells() {
    TextCanvas canvas(columns_, height_);
    canvas.draw(marks_of(panel_, x_, y_));
    for (int r = 0; r < height_; ++r) {
      std::string number;
      for (const Tick& tick : y_ticks_) {
        if (static_cast<int>(std::lround(y_(tick.value))) / 4 == r && !tick.text.empty()) number = tick.text;
      }
      const std::string start =
          blanks(margin_ - columns_of(number)) + number + (number.empty() ? " │" : " ┤");
      block_.push_back({start + canvas.row(r, color_), margin_ + 2 + columns_});
    }
  }

  void numbers() {
    std::string axis;
    std::string line;
    int taken = 0;
    std::vector<bool> is_marked(static_cast<std::size_t>(columns_));
    for (const Tick& tick : x_ticks_) {
      const int at = std::clamp(static_cast<int>(std::lround(x_(tick.value))) / 2, 0, columns_ - 1);
      const int length = columns_of(tick.text);
      const int begin = std::clamp(at - length / 2, 0, std::max(columns_ - length, 0));
      if (tick.text.empty() || (taken > 0 && begin < taken + 1)) continue;
      line += blanks(begin - taken) + tick.text;
      taken = begin + length;
      is_marked[static_cast<std::size_t>(at)] = true;
    }
    for (const bool marked : is_marked) axis += marked ? "┬" : "─";
    block_.push_back(plain_line(blanks(margin_) + " └" + axis));
    add(line);
  }

  void color_bar() {
    const ColorBar& bar = *panel_.color_bar;
    const std::string low = fmt::format("{:.4g} ", bar.extent.low);
    const std::string high = fmt::format(" {:.4g}", bar.extent.high);
    const int steps = std::clamp(columns_ - columns_of(low) - columns_of(high), 1, 24);
    std::string text;
    for (int i = 0; i < steps; ++i) {
      const Color color = bar.map->at((i + 0.5) / steps);
      text += color_ ? foreground(color) + "█" : std::string(1, shade(color));
    }
    if (color_) text += kPlain;
    block_.push_back(
        {blanks(margin_ + 2) + low + text + high, margin_ + 2 + columns_of(low) + steps + columns_of(high)});
  }

  void legend() {
    TextLine line = plain_line(blanks(margin_ + 2));
    const std::vector<LegendEntry> entries = legend_of(panel_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string mark = entries[i].mark == LegendEntry::Mark::Line  ? "⠒⠒"
                               : entries[i].mark == LegendEntry::Mark::Dot ? "⠐⠂"
                                                                           : "██";
      line.text += (i == 0 ? "" : "  ") +
                   (color_ ? foreground(entries[i].color) + mark + std::string(kPlain) : mark) + " " +
                   entries[i].label;
      line.columns += (i == 0 ? 3 : 5) + columns_of(entries[i].label);
    }
    if (!entries.empty()) block_.push_back(line);
  }

  const Panel& panel_;
  int height_;
  bool color_;
  Reach reach_;
  Ruler x_, y_;
  std::vector<Tick> x_ticks_, y_ticks_;
  int margin_ = 0, columns_ = 0;
  TextBlock block_;
};

std::string without_blank_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Side by side, each in so many columns.
std::string beside(const std::vector<TextBlock>& blocks, int width) {
  std::size_t lines = 0;
  for (const TextBlock& block : blocks) lines = std::max(lines, block.size());
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string whole;
    for (const TextBlock& block : blocks) {
      const TextLine line = i < block.size() ? block[i] : TextLine{};
      whole += line.text + blanks(width - line.columns) + std::string(kBetween);
    }
    text += without_blank_end(std::move(whole)) + "\n";
  }
  return text;
}

}  // namespace

std::string figure_text(const Figure& figure, int width, int height, bool color) {
  const Panel& first = figure.panels.front();
  if (figure.panels.size() == 1 && first.layers.size() == 1) {
    const auto* const bars = std::get_if<Bars>(&first.layers.front());
    const auto negative = [](double v) { return v < 0; };
    if (bars != nullptr && std::none_of(bars->heights.begin(), bars->heights.end(), negative))
      return bars_text(first, *bars, width, color);
    if (const auto* const picture = std::get_if<Picture>(&first.layers.front()); picture && !first.color_bar)
      return picture_text(*picture, width, color);
  }
  const int between = static_cast<int>(kBetween.size());
  const int columns = std::max(1, (width - between * (figure.columns - 1)) / figure.columns);
  std::string text = figure.title.empty() ? "" : figure.title + "\n";
  for (int row = 0; row < figure.rows; ++row) {
    std::vector<TextBlock> blocks;
    for (int column = 0; column < figure.columns; ++column) {
      const auto i = static_cast<std::size_t>(row * figure.columns + column);
      blocks.push_back(PanelText(figure.panels[i], columns, height, color).run());
    }
    text += beside(blocks, columns);
  }
  return text;
}

}  // namespace kiln::interp::plot
