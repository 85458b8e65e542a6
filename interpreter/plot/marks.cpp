#include "interpreter/plot/marks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "interpreter/plot/clip.h"

namespace kiln::interp::plot {
namespace {

constexpr double kLineWidth = 1.5;
constexpr double kLonePoint = 2.5;  // the radius of a point between gaps
constexpr double kBandOpacity = 0.25;
constexpr double kGapOfBars = 0.5;  // pixels on each side
constexpr std::size_t kFewPoints = 4096;

bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

// Of neighbours in one column of pixels the first, the least, the greatest and the last cover what all of
// them do (Jugel and others, "M4", 2014).
std::vector<Point> thinned(const std::vector<Point>& points) {
  if (points.size() < kFewPoints) return points;
  std::vector<Point> kept;
  for (std::size_t begin = 0; begin < points.size();) {
    const double column = std::floor(2 * points[begin].x);
    std::size_t end = begin;
    while (end < points.size() && std::floor(2 * points[end].x) == column) ++end;
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(end);
    const auto [least, most] =
        std::minmax_element(first, last, [](const Point& a, const Point& b) { return a.y < b.y; });
    auto places = {first, std::min(least, most), std::max(least, most), last - 1};
    auto before = last;
    for (const auto place : places) {
      if (place != before) kept.push_back(*place);
      before = place;
    }
    begin = end;
  }
  return kept;
}

class Marks {
 public:
  Marks(const Ruler& x, const Ruler& y) : x_(x), y_(y) {}

  void operator()(const Line& line) { stroke(line.x, line.y, line.color); }

  void operator()(const Points& all) {
    Dots dots;
    dots.radius = all.radius;
    dots.opacity = all.opacity;
    if (all.colors.size() == 1) dots.colors = all.colors;
    const bool merges = all.opacity == 1 && all.x.size() > kFewPoints;
    std::unordered_set<std::int64_t> taken;
    // From the last, which is drawn over the others.
    for (std::size_t i = all.x.size(); i-- > 0;) {
      const Point at = place(all.x[i], all.y[i]);
      if (!is_finite(at) || !clipped_line(at, at, seen())) continue;
      const auto half = [](double v) { return std::llround(v * 2); };
      if (merges && !taken.insert(half(at.x) * 10'000'000 + half(at.y)).second) continue;
      dots.centers.push_back(at);
      if (all.colors.size() != 1) dots.colors.push_back(all.colors[i]);
    }
    std::reverse(dots.centers.begin(), dots.centers.end());
    std::reverse(dots.colors.begin(), dots.colors.end());
    if (!dots.centers.empty()) shapes.emplace_back(std::move(dots));
  }

  void operator()(const Bars& bars) {
    for (std::size_t i = 0; i < bars.heights.size(); ++i) {
      const double height = bars.heights[i];
      if (!std::isfinite(height) || height == 0) continue;
      const double left = x_(bars.spans[i].low);
      const double right = x_(bars.spans[i].high);
      const double zero = y_.is_log ? y_.from : y_(0);
      const Box box = seen();
      const auto within = [](double v, double low, double high) { return std::clamp(v, low, high); };
      Block block{{within(std::min(left, right), box.left, box.right),
                   within(std::min(zero, y_(height)), box.top, box.bottom),
                   within(std::max(left, right), box.left, box.right),
                   within(std::max(zero, y_(height)), box.top, box.bottom)},
                  bars.color};
      if (block.box.width() > 4 * kGapOfBars) {
        block.box.left += kGapOfBars;
        block.box.right -= kGapOfBars;
      }
      shapes.emplace_back(block);
    }
  }

  void operator()(const Band& band) {
    std::vector<Point> above;
    std::vector<Point> below;
    for (std::size_t i = 0; i <= band.x.size(); ++i) {
      const bool more = i < band.x.size();
      const Point top = more ? cut(place(band.x[i], band.high[i])) : Point{};
      const Point bottom = more ? cut(place(band.x[i], band.low[i])) : Point{};
      if (more && is_finite(top) && is_finite(bottom)) {
        above.push_back(top);
        below.push_back(bottom);
        continue;
      }
      fill(above, below, band.color);
      above.clear();
      below.clear();
    }
  }

  void operator()(const Picture& picture) {
    const auto columns = seen_pixels(picture.width, x_, seen().left, seen().right);
    const auto rows = seen_pixels(picture.height, y_, seen().top, seen().bottom);
    if (columns.first == columns.second || rows.first == rows.second) return;
    const double x0 = x_(columns.first - 0.5);
    const double x1 = x_(columns.second - 0.5);
    const double y0 = y_(rows.first - 0.5);
    const double y1 = y_(rows.second - 0.5);
    Image image{{std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)},
                columns.second - columns.first,
                rows.second - rows.first,
                {}};
    for (int row = rows.first; row < rows.second; ++row) {
      const auto begin = picture.rgb.begin() + (std::ptrdiff_t{row} * picture.width + columns.first) * 3;
      image.rgb.insert(image.rgb.end(), begin, begin + std::ptrdiff_t{image.width} * 3);
    }
    shapes.emplace_back(std::move(image));
  }

  void operator()(const Contours& contours) {
    for (const Contours::Curve& curve : contours.curves) stroke(curve.x, curve.y, curve.color);
  }

  void operator()(const Notes& notes) {
    constexpr double kNoteSize = 11;
    for (const Notes::Note& note : notes.notes) {
      const Point at = place(note.x, note.y);
      if (!is_finite(at)) continue;
      shapes.emplace_back(
          Words{{at.x, at.y + kNoteSize * 0.36}, note.text, kSize, Anchor::Middle, false, note.color});
    }
  }

  Shapes shapes;

 private:
  Point place(double x, double y) const { return {x_(x), y_(y)}; }

  // What has no place on a log axis, as low as the axis goes.
  Point cut(Point p) const {
    if (y_.is_log && !std::isfinite(p.y)) p.y = y_.from;
    return p;
  }

  // What is near enough to the panel to be seen on it. Further away, numbers may be too great for a drawing.
  Box seen() const {
    constexpr double kBeyond = 200;
    return {std::min(x_.from, x_.to) - kBeyond, std::min(y_.from, y_.to) - kBeyond,
            std::max(x_.from, x_.to) + kBeyond, std::max(y_.from, y_.to) + kBeyond};
  }

  // The first of the pixels along an axis that are seen, and the one behind the last.
  static std::pair<int, int> seen_pixels(int count, const Ruler& ruler, double low, double high) {
    const auto is_seen = [&](int i) {
      const double a = ruler(i - 0.5);
      const double b = ruler(i + 0.5);
      return std::max(a, b) >= low && std::min(a, b) <= high;
    };
    int first = 0;
    while (first < count && !is_seen(first)) ++first;
    int last = count;
    while (last > first && !is_seen(last - 1)) --last;
    return {first, last};
  }

  // The pieces of a line that are seen.
  void add_run(const std::vector<Point>& run, Color color) {
    const Box box = seen();
    Stroke stroke{{}, color, kLineWidth};
    const auto end = [&] {
      if (stroke.points.size() == 1) {
        shapes.emplace_back(Dots{stroke.points, {color}, kLonePoint, 1});
      } else if (!stroke.points.empty()) {
        shapes.emplace_back(stroke);
      }
      stroke.points.clear();
    };
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto part = clipped_line(run[i == 0 ? 0 : i - 1], run[i], box);
      const bool joins = part && i > 0 && !stroke.points.empty() && stroke.points.back() == part->first;
      if (!joins) end();
      if (!part) continue;
      if (!joins && !(part->first == part->second)) stroke.points.push_back(part->first);
      stroke.points.push_back(part->second);
    }
    end();
  }

  // A value that is not finite ends one line; the next starts another.
  void stroke(const std::vector<double>& xs, const std::vector<double>& ys, Color color) {
    std::vector<Point> run;
    for (std::size_t i = 0; i <= xs.size(); ++i) {
      const Point at = i < xs.size() ? place(xs[i], ys[i]) : Point{};
      if (i < xs.size() && is_finite(at)) {
        run.push_back(at);
        continue;
      }
      add_run(thinned(run), color);
      run.clear();
    }
  }

  void fill(const std::vector<Point>& above, const std::vector<Point>& below, Color color) {
    if (above.size() < 2) return;
    std::vector<Point> edge = thinned(above);
    const std::vector<Point> back = thinned(below);
    edge.insert(edge.end(), back.rbegin(), back.rend());
    edge = clipped_polygon(std::move(edge), seen());
    if (!edge.empty()) shapes.emplace_back(Fill{std::move(edge), color, kBandOpacity});
  }

  const Ruler& x_;
  const Ruler& y_;
};

}  // namespace

Shapes marks_of(const Panel& panel, const Ruler& x, const Ruler& y) {
  Marks marks(x, y);
  for (const Layer& layer : panel.layers) std::visit(marks, layer);
  return std::move(marks.shapes);
}

}  // namespace kiln::interp::plot
