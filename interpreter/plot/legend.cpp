// Legends: what they say, and the corner where they are least in the way.
#include <algorithm>
#include <array>

#include "interpreter/plot/layout.h"

namespace kiln::interp::plot {
namespace {

constexpr double kSize = 12, kRow = 18, kSample = 22, kPadding = 7, kInset = 8;
constexpr Color kBorder{204, 204, 204};

struct EntryOf {
  using Mark = LegendEntry::Mark;
  std::vector<LegendEntry>& entries;
  void add(Mark mark, const std::string& label, Color color) const {
    if (!label.empty()) entries.push_back({mark, label, color});
  }
  void operator()(const Line& line) const { add(Mark::Line, line.label, line.color); }
  void operator()(const Points& points) const {
    if (!points.colors.empty()) add(Mark::Dot, points.label, points.colors.front());
  }
  void operator()(const Bars& bars) const { add(Mark::Block, bars.label, bars.color); }
  void operator()(const Band& band) const { add(Mark::Block, band.label, band.color); }
  template <class Other>
  void operator()(const Other&) const {}  // has no label
};

// How many points of shapes a box has within.
struct Covered {
  const Box& box;
  std::size_t count = 0;
  void point(Point p) {
    if (p.x >= box.left && p.x <= box.right && p.y >= box.top && p.y <= box.bottom) ++count;
  }
  void operator()(const Stroke& stroke) {
    for (std::size_t i = 0; i < stroke.points.size(); ++i) {
      point(stroke.points[i]);
      if (i == 0) continue;
      // Long lines go through boxes in which they have no point.
      const Point a = stroke.points[i - 1];
      const Point b = stroke.points[i];
      for (const double t : {0.2, 0.4, 0.6, 0.8}) point({a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
    }
  }
  void operator()(const Dots& dots) {
    for (const Point& p : dots.centers) point(p);
  }
  void operator()(const Fill& fill) {
    for (const Point& p : fill.points) point(p);
  }
  void operator()(const Block& block) {
    const bool apart = block.box.right < box.left || block.box.left > box.right ||
                       block.box.bottom < box.top || block.box.top > box.bottom;
    if (!apart) count += 8;
  }
  template <class Other>
  void operator()(const Other&) {}
};

Box best_corner(const Shapes& shapes, const Box& within, double width, double height) {
  const Box right_top{within.right - kInset - width, within.top + kInset, within.right - kInset,
                      within.top + kInset + height};
  const double down = within.height() - height - 2 * kInset;
  const double left = within.width() - width - 2 * kInset;
  Box best = right_top;
  std::size_t least = static_cast<std::size_t>(-1);
  for (const auto& [dx, dy] :
       std::array<std::pair<double, double>, 4>{{{0, 0}, {left, 0}, {left, down}, {0, down}}}) {
    const Box box{right_top.left - dx, right_top.top + dy, right_top.right - dx, right_top.bottom + dy};
    Covered covered{box};
    for (const Shape& shape : shapes) std::visit(covered, shape);
    if (covered.count < least) {
      least = covered.count;
      best = box;
    }
  }
  return best;
}

void add_sample(Shapes& shapes, const LegendEntry& entry, Point middle) {
  switch (entry.mark) {
    case LegendEntry::Mark::Line:
      shapes.emplace_back(
          Stroke{{{middle.x - kSample / 2, middle.y}, {middle.x + kSample / 2, middle.y}}, entry.color, 2});
      break;
    case LegendEntry::Mark::Dot:
      shapes.emplace_back(Dots{{middle}, {entry.color}, 4, 1});
      break;
    case LegendEntry::Mark::Block:
      shapes.emplace_back(Block{
          {middle.x - kSample / 2, middle.y - 5, middle.x + kSample / 2, middle.y + 5}, entry.color, 0.8});
      break;
  }
}

}  // namespace

std::vector<LegendEntry> legend_of(const Panel& panel) {
  std::vector<LegendEntry> entries;
  if (panel.legend == false) return entries;
  for (const Layer& layer : panel.layers) std::visit(EntryOf{entries}, layer);
  return entries;
}

void add_legend(Shapes& shapes, const std::vector<LegendEntry>& entries, const Box& within) {
  if (entries.empty()) return;
  double widest = 0;
  for (const LegendEntry& entry : entries) widest = std::max(widest, text_width(entry.label, kSize));
  const double width = kSample + 8 + widest + 2 * kPadding;
  const double height = kRow * static_cast<double>(entries.size()) + kPadding;
  const Box box = best_corner(shapes, within, width, height);
  shapes.emplace_back(Block{box, {255, 255, 255}, 0.85});
  shapes.emplace_back(Stroke{{{box.left, box.top},
                              {box.right, box.top},
                              {box.right, box.bottom},
                              {box.left, box.bottom},
                              {box.left, box.top}},
                             kBorder,
                             1});
  double y = box.top + (kPadding + kRow) / 2;
  for (const LegendEntry& entry : entries) {
    add_sample(shapes, entry, {box.left + kPadding + kSample / 2, y});
    shapes.emplace_back(Words{{box.left + kPadding + kSample + 8, y + kSize * 0.36}, entry.label, kSize});
    y += kRow;
  }
}

}  // namespace kiln::interp::plot
