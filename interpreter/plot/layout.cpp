#include "interpreter/plot/layout.h"

#include <algorithm>
#include <cmath>

#include "interpreter/plot/marks.h"
#include "interpreter/plot/scale.h"

namespace kiln::interp::plot {
namespace {

constexpr double kTickSize = 12, kLabelSize = 13, kTitleSize = 15, kFigureTitleSize = 17;  // of letters
constexpr double kTick = 4, kSmallTick = 2.5, kGap = 4, kEdge = 10;
constexpr double kBarWidth = 14, kBarGap = 12;  // of the scale of colours
constexpr double kMargin = 0.05;                // of the data, on each side
constexpr Color kInk{38, 38, 38};
constexpr Color kGrid{229, 229, 229};
constexpr double kAxisShare = 0.8;  // of a cell, the least that its axes are wide
constexpr int kBarSteps = 128;

int wanted_ticks(double length, double each) { return std::clamp(static_cast<int>(length / each), 1, 10); }

double widest(const std::vector<Tick>& all) {
  double width = 0;
  for (const Tick& tick : all) width = std::max(width, text_width(tick.text, kTickSize));
  return width;
}

class PanelLayout {
 public:
  PanelLayout(const Panel& panel, const Box& cell, Shapes& out)
      : panel_(panel), cell_(cell), out_(out), reach_(reach_of(panel, kMargin)) {}

  void run() {
    place_axes();
    const Shapes marks = marks_of(panel_, x_, y_);
    const bool has_picture = std::any_of(panel_.layers.begin(), panel_.layers.end(), [](const Layer& layer) {
      return std::holds_alternative<Picture>(layer);
    });
    if (!has_picture) grid();
    out_.emplace_back(Clip{box_});
    out_.insert(out_.end(), marks.begin(), marks.end());
    out_.emplace_back(Clip{});
    frame();
    numbers();
    names();
    if (panel_.color_bar) color_bar();
    Shapes legend = marks;
    add_legend(legend, legend_of(panel_), box_);
    out_.insert(out_.end(), legend.begin() + static_cast<std::ptrdiff_t>(marks.size()), legend.end());
  }

 private:
  void place_axes() {
    box_ = {cell_.left + kEdge, cell_.top + kEdge, cell_.right - kEdge, cell_.bottom - kEdge};
    if (!panel_.title.empty()) box_.top += kTitleSize + kGap;
    box_.bottom -= kTick + kGap + x_text_height();
    if (!panel_.x.label.empty()) box_.bottom -= kLabelSize + 2 * kGap;
    if (!panel_.y.label.empty()) box_.left += kLabelSize + kGap;
    y_ = ruler(panel_.y, reach_.y, box_.bottom, box_.top);
    y_ticks_ = ticks(panel_.y, y_, wanted_ticks(box_.height(), 45));
    box_.left += widest(y_ticks_) + kTick + kGap;
    if (panel_.color_bar) {
      bar_ticks_ = ticks({}, {panel_.color_bar->extent}, wanted_ticks(box_.height(), 45));
      box_.right -= kBarGap + kBarWidth + kTick + kGap + widest(bar_ticks_);
    }
    // Small cells keep something to draw on.
    box_.right = std::max(box_.right, box_.left + 10);
    box_.bottom = std::max(box_.bottom, box_.top + 10);
    if (panel_.is_square) keep_square();
    y_ = ruler(panel_.y, reach_.y, box_.bottom, box_.top);
    x_ = ruler(panel_.x, reach_.x, box_.left, box_.right);
    x_ticks_ = ticks(panel_.x, x_, wanted_ticks(box_.width(), 75));
    keep_apart();
  }

  // Names that have no room side by side are written upwards.
  double x_text_height() {
    double all = 0;
    double longest = 0;
    for (const auto& [value, name] : panel_.x.names) {
      const double width = text_width(name, kTickSize);
      all += width + 2 * kGap;
      longest = std::max(longest, width);
    }
    has_upright_names_ = all > cell_.width() * kAxisShare;
    return has_upright_names_ ? longest : kTickSize;
  }

  static Ruler ruler(const Axis& axis, const Extent& extent, double from, double to) {
    return axis.is_reversed ? Ruler{extent, axis.is_log, to, from} : Ruler{extent, axis.is_log, from, to};
  }

  // A unit as long on both axes: the longer side gives way.
  void keep_square() {
    const double units = (reach_.x.high - reach_.x.low) / (reach_.y.high - reach_.y.low);
    const double width = std::min(box_.width(), box_.height() * units);
    const double height = width / units;
    const double left = (box_.width() - width) / 2;
    const double top = (box_.height() - height) / 2;
    box_ = {box_.left + left, box_.top + top, box_.left + left + width, box_.top + top + height};
  }

  // Numbers that would touch their neighbours go.
  void keep_apart() {
    double taken = -1e9;
    if (has_upright_names_) return;
    for (Tick& tick : x_ticks_) {
      const double half = text_width(tick.text, kTickSize) / 2;
      if (tick.text.empty()) continue;
      if (x_(tick.value) - half < taken + kGap) {
        tick.text.clear();
      } else {
        taken = x_(tick.value) + half;
      }
    }
  }

  void line(Point a, Point b, Color color, double width) { out_.emplace_back(Stroke{{a, b}, color, width}); }
  static double crisp(double v) { return std::floor(v) + 0.5; }

  void grid() {
    for (const Tick& tick : x_ticks_) {
      const double x = crisp(x_(tick.value));
      if (!tick.text.empty()) line({x, box_.top}, {x, box_.bottom}, kGrid, 1);
    }
    for (const Tick& tick : y_ticks_) {
      const double y = crisp(y_(tick.value));
      if (!tick.text.empty()) line({box_.left, y}, {box_.right, y}, kGrid, 1);
    }
  }

  void frame() { outline(box_); }

  void outline(const Box& box) {
    const double left = crisp(box.left);
    const double right = crisp(box.right);
    const double top = crisp(box.top);
    const double bottom = crisp(box.bottom);
    out_.emplace_back(
        Stroke{{{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}}, kInk, 1});
  }

  void numbers() {
    for (const Tick& tick : x_ticks_) {
      const double x = crisp(x_(tick.value));
      line({x, box_.bottom}, {x, box_.bottom + (tick.text.empty() ? kSmallTick : kTick)}, kInk, 1);
      if (has_upright_names_) {
        words({x + kTickSize * 0.36, box_.bottom + kTick + kGap}, tick.text, kTickSize, Anchor::End, true);
      } else {
        words({x, box_.bottom + kTick + kGap + kTickSize * 0.8}, tick.text, kTickSize, Anchor::Middle);
      }
    }
    upright_numbers(y_ticks_, y_, box_.left, -1);
  }

  // Beside a vertical axis, on its left (-1) or right (1) side.
  void upright_numbers(const std::vector<Tick>& all, const Ruler& ruler, double x, int side) {
    for (const Tick& tick : all) {
      const double y = crisp(ruler(tick.value));
      line({x, y}, {x + side * (tick.text.empty() ? kSmallTick : kTick), y}, kInk, 1);
      words({x + side * (kTick + kGap), y + kTickSize * 0.36}, tick.text, kTickSize,
            side < 0 ? Anchor::End : Anchor::Start);
    }
  }

  void words(Point at, const std::string& text, double size, Anchor anchor, bool upright = false) {
    if (!text.empty()) out_.emplace_back(Words{at, text, size, anchor, upright, kInk});
  }

  void names() {
    const double middle = (box_.left + box_.right) / 2;
    words({middle, box_.top - kGap - 3}, panel_.title, kTitleSize, Anchor::Middle);
    words({middle, box_.bottom + kTick + 2 * kGap + x_text_height() + kLabelSize}, panel_.x.label, kLabelSize,
          Anchor::Middle);
    words({box_.left - kTick - 2 * kGap - widest(y_ticks_) - 2, (box_.top + box_.bottom) / 2}, panel_.y.label,
          kLabelSize, Anchor::Middle, true);
  }

  void color_bar() {
    const ColorBar& bar = *panel_.color_bar;
    const Box box{box_.right + kBarGap, box_.top, box_.right + kBarGap + kBarWidth, box_.bottom};
    Image image{box, 1, kBarSteps, {}};
    for (int i = kBarSteps; i-- > 0;) {
      const Color color = bar.map->at((i + 0.5) / kBarSteps);
      image.rgb.insert(image.rgb.end(), {color.red, color.green, color.blue});
    }
    out_.emplace_back(std::move(image));
    outline(box);
    upright_numbers(bar_ticks_, {bar.extent, false, box.bottom, box.top}, box.right, 1);
  }

  const Panel& panel_;
  Box cell_;
  Shapes& out_;
  Reach reach_;
  Box box_;
  Ruler x_, y_;
  std::vector<Tick> x_ticks_, y_ticks_, bar_ticks_;
  bool has_upright_names_ = false;
};

}  // namespace

Drawing laid_out(const Figure& figure, int width, int height) {
  Drawing drawing{width, height, {}};
  double top = 0;
  if (!figure.title.empty()) {
    top = kFigureTitleSize + 2 * kGap;
    drawing.shapes.emplace_back(
        Words{{width / 2.0, top}, figure.title, kFigureTitleSize, Anchor::Middle, false, kInk});
  }
  const double cell_width = static_cast<double>(width) / figure.columns;
  const double cell_height = (height - top) / figure.rows;
  for (int i = 0; i < figure.rows * figure.columns; ++i) {
    const double x = i % figure.columns * cell_width;
    const double y = top + i / figure.columns * cell_height;
    PanelLayout(figure.panels[static_cast<std::size_t>(i)], {x, y, x + cell_width, y + cell_height},
                drawing.shapes)
        .run();
  }
  return drawing;
}

}  // namespace kiln::interp::plot
