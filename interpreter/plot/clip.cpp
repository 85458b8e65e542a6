#include "interpreter/plot/clip.h"

#include <algorithm>

namespace kiln::interp::plot {

std::optional<std::pair<Point, Point>> clipped_line(Point a, Point b, const Box& box) {
  double first = 0;
  double last = 1;
  // False when the line passes by one side of a pair.
  const auto cut = [&](double start, double step, double low, double high) {
    if (step == 0) return start >= low && start <= high;
    const double enters = ((step > 0 ? low : high) - start) / step;
    const double leaves = ((step > 0 ? high : low) - start) / step;
    first = std::max(first, enters);
    last = std::min(last, leaves);
    return first <= last;
  };
  const Point step{b.x - a.x, b.y - a.y};
  if (!cut(a.x, step.x, box.left, box.right) || !cut(a.y, step.y, box.top, box.bottom)) return std::nullopt;
  // Ends that are inside stay what they are, to the bit.
  const auto at = [&](double t) { return Point{a.x + t * step.x, a.y + t * step.y}; };
  return std::pair{first == 0 ? a : at(first), last == 1 ? b : at(last)};
}

namespace {

// The part of a polygon where `inside` is at least 0, which is linear.
template <class Inside>
std::vector<Point> cut_polygon(const std::vector<Point>& points, const Inside& inside) {
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point a = points[i];
    const Point b = points[(i + 1) % points.size()];
    const double of_a = inside(a);
    const double of_b = inside(b);
    if (of_a >= 0) kept.push_back(a);
    if ((of_a < 0) == (of_b < 0)) continue;
    const double t = of_a / (of_a - of_b);
    kept.push_back({a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)});
  }
  return kept;
}

}  // namespace

std::vector<Point> clipped_polygon(std::vector<Point> points, const Box& box) {
  points = cut_polygon(points, [&](Point p) { return p.x - box.left; });
  points = cut_polygon(points, [&](Point p) { return box.right - p.x; });
  points = cut_polygon(points, [&](Point p) { return p.y - box.top; });
  return cut_polygon(points, [&](Point p) { return box.bottom - p.y; });
}

}  // namespace kiln::interp::plot
