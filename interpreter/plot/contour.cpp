#include "interpreter/plot/contour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace kiln::interp::plot {
namespace {

// A side of a cell of the grid: twice the number of its first crossing, plus one where it goes down.
using Side = std::size_t;
constexpr Side kNone = static_cast<Side>(-1);

class LevelCurves {
 public:
  LevelCurves(const Field& field, double level, Color color, std::vector<Contours::Curve>& out)
      : field_(field), level_(level), color_(color), out_(out) {}

  void run() {
    for (std::size_t r = 0; r + 1 < field_.rows; ++r) {
      for (std::size_t c = 0; c + 1 < field_.columns; ++c) cross_cell(r, c);
    }
    // Open curves from their ends, then what is left, which is closed.
    for (const Side side : order_) {
      if (next_[side][1] == kNone && next_[side][0] != kNone) follow(side);
    }
    for (const Side side : order_) {
      if (next_[side][0] != kNone) follow(side);
    }
  }

 private:
  void cross_cell(std::size_t r, std::size_t c) {
    // Around the cell: crossings, and the sides from each to the next.
    const std::array<double, 4> corners{field_.at(r, c), field_.at(r, c + 1), field_.at(r + 1, c + 1),
                                        field_.at(r + 1, c)};
    const std::size_t first = r * field_.columns + c;
    const std::array<Side, 4> sides{2 * first, 2 * (first + 1) + 1, 2 * (first + field_.columns),
                                    2 * first + 1};
    std::vector<Side> crossed;
    for (std::size_t i = 0; i < 4; ++i) {
      if (!std::isfinite(corners[i])) return;
      if (is_above(corners[i]) != is_above(corners[(i + 1) % 4])) crossed.push_back(sides[i]);
    }
    if (crossed.size() == 2) join(crossed[0], crossed[1]);
    if (crossed.size() != 4) return;
    const double middle = (corners[0] + corners[1] + corners[2] + corners[3]) / 4;
    const bool around_first = is_above(middle) != is_above(corners[0]);
    // The curves cut off either the first corner and its opposite, or the other two.
    join(crossed[0], crossed[around_first ? 3 : 1]);
    join(crossed[2], crossed[around_first ? 1 : 3]);
  }

  bool is_above(double height) const { return height >= level_; }

  void join(Side a, Side b) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      const auto [found, is_new] = next_.try_emplace(from, std::array<Side, 2>{kNone, kNone});
      if (is_new) order_.push_back(from);
      found->second[found->second[0] == kNone ? 0 : 1] = to;
    }
  }

  // Takes a curve out of the table.
  void follow(Side side) {
    Contours::Curve curve{color_, {}, {}};
    while (side != kNone) {
      add_crossing(curve, side);
      const Side next = next_[side][0];
      if (next == kNone) break;
      forget(side, next);
      forget(next, side);
      side = next;
    }
    out_.push_back(std::move(curve));
  }
  void forget(Side at, Side neighbour) {
    std::array<Side, 2>& both = next_[at];
    if (both[0] == neighbour) both[0] = both[1];
    both[1] = kNone;
  }

  void add_crossing(Contours::Curve& curve, Side side) const {
    const bool down = side % 2 == 1;
    const std::size_t r = side / 2 / field_.columns;
    const std::size_t c = side / 2 % field_.columns;
    const std::size_t r1 = r + (down ? 1 : 0);
    const std::size_t c1 = c + (down ? 0 : 1);
    const double from = field_.at(r, c);
    const double t = (level_ - from) / (field_.at(r1, c1) - from);
    curve.x.push_back(field_.x[c] + t * (field_.x[c1] - field_.x[c]));
    curve.y.push_back(field_.y[r] + t * (field_.y[r1] - field_.y[r]));
  }

  const Field& field_;
  double level_;
  Color color_;
  std::vector<Contours::Curve>& out_;
  std::unordered_map<Side, std::array<Side, 2>> next_;
  std::vector<Side> order_;  // so that the same field always gives the same curves
};

Extent extent_of(const std::vector<double>& places) {
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  return {*low, *high};
}

}  // namespace

Contours contours_of(const Field& field, const std::vector<double>& levels, const ColorMap& map) {
  Contours contours;
  contours.x = extent_of(field.x);
  contours.y = extent_of(field.y);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double share =
        levels.size() == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(levels.size() - 1);
    LevelCurves(field, levels[i], map.at(share), contours.curves).run();
  }
  return contours;
}

}  // namespace kiln::interp::plot
