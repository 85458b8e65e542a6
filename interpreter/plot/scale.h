// Owns how the axes of a panel measure: which range they show, where a number stands, which numbers are
// written.
#pragma once

#include <string>
#include <vector>

#include "interpreter/plot/figure.h"

namespace kiln::interp::plot {

// Of finite numbers; never empty, never of width 0.
class Range {
 public:
  void add(double v);
  Extent extent() const;
  bool is_empty() const { return !any_; }

 private:
  Extent extent_;
  bool any_ = false;
};

// Where numbers of an axis stand between two ends of a drawing.
struct Ruler {
  Extent extent;  // of a log axis, of the logarithms
  bool is_log = false;
  double from = 0, to = 1;
  // Not finite where the number has no place (0 on a log axis).
  double operator()(double v) const;
};

// The ranges that a panel shows: what its layers reach, with `margin` of it on each side where they do not
// ask to be tight, or the limits that were asked for. ValueError when a line or point has no place on a log
// axis.
struct Reach {
  Extent x, y;  // of log axes, of the logarithms
};
Reach reach_of(const Panel& panel, double margin);

struct Tick {
  double value = 0;
  std::string text;  // empty: a small one between others
};
// About `count` round numbers within the range of a ruler, or the names of an axis that has some, from the
// one end of the drawing to the other.
std::vector<Tick> ticks(const Axis& axis, const Ruler& ruler, int count);
// Round numbers (1, 2 or 5 times a power of ten) within an extent, about `count` of them.
std::vector<double> round_numbers(const Extent& extent, int count);

}  // namespace kiln::interp::plot
