#include "interpreter/plot/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "interpreter/values/raise.h"

namespace kiln::interp::plot {
namespace {

// What the layers of one axis reach, and on which sides they ask for no margin.
struct AxisReach {
  char name;
  const Axis& axis;
  Range range;
  bool is_tight = false;
  bool stands_on_zero = false;

  void add(double v) { range.add(axis.is_log ? std::log10(v) : v); }
  // Of something that cannot be left out.
  void add_placed(double v) {
    if (axis.is_log && v <= 0)
      raise("ValueError", fmt::format("the {0} axis is logarithmic, and {1:g} has no place on it", name, v),
            fmt::format("leave `{}scale` out, or draw what is positive only", name));
    add(v);
  }

  Extent extent(double margin) const {
    Extent found = range.extent();
    const double more = is_tight || axis.low || axis.high ? 0 : (found.high - found.low) * margin;
    if (!(stands_on_zero && found.low == 0)) found.low -= more;
    if (!(stands_on_zero && found.high == 0)) found.high += more;
    const auto limit = [&](double v) { return axis.is_log ? std::log10(v) : v; };
    if (axis.low) found.low = limit(*axis.low);
    if (axis.high) found.high = limit(*axis.high);
    if (!(found.low < found.high))
      (axis.low ? found.high : found.low) = axis.low ? found.low + 1 : found.high - 1;
    return found;
  }
};

struct Measure {
  AxisReach& x;
  AxisReach& y;

  void points(const std::vector<double>& xs, const std::vector<double>& ys) const {
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (!std::isfinite(xs[i]) || !std::isfinite(ys[i])) continue;
      x.add_placed(xs[i]);
      y.add_placed(ys[i]);
    }
  }
  void operator()(const Line& line) const { points(line.x, line.y); }
  void operator()(const Points& all) const { points(all.x, all.y); }
  void operator()(const Band& band) const {
    // What is below the reach of a log axis is cut there.
    for (std::size_t i = 0; i < band.x.size(); ++i) {
      if (!std::isfinite(band.low[i]) || !std::isfinite(band.high[i])) continue;
      x.add(band.x[i]);
      y.add(band.low[i]);
      y.add(band.high[i]);
    }
  }
  void operator()(const Bars& bars) const {
    y.stands_on_zero = true;
    for (const Extent& span : bars.spans) {
      x.add_placed(span.low);
      x.add_placed(span.high);
    }
    y.add(0);
    for (const double height : bars.heights) {
      if (height != 0 && std::isfinite(height)) y.add_placed(height);
    }
    // On a log axis bars stand on the power of ten below the least.
    if (y.axis.is_log && !y.range.is_empty()) y.range.add(std::ceil(y.range.extent().low) - 1);
  }
  void rectangle(const Extent& xs, const Extent& ys) const {
    for (const double v : {xs.low, xs.high}) x.add_placed(v);
    for (const double v : {ys.low, ys.high}) y.add_placed(v);
    x.is_tight = y.is_tight = true;
  }
  void operator()(const Picture& picture) const {
    rectangle({-0.5, picture.width - 0.5}, {-0.5, picture.height - 0.5});
  }
  void operator()(const Contours& contours) const { rectangle(contours.x, contours.y); }
  void operator()(const Notes&) const {}
};

int needed_decimals(double step) {
  return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
}

// Numbers at equal steps, written alike.
std::string number_text(double v, double step, double greatest) {
  if (greatest < 1e7 && step >= 1e-5) return fmt::format("{:.{}f}", v, needed_decimals(step));
  const int digits = static_cast<int>(std::ceil(std::log10(greatest / step) - 1e-9)) + 1;
  return fmt::format("{:.{}g}", v, std::clamp(digits, 1, 17));
}

std::vector<Tick> linear_ticks(const Extent& extent, int count) {
  std::vector<Tick> found;
  const std::vector<double> values = round_numbers(extent, count);
  const double step = values.size() > 1 ? values[1] - values[0] : extent.high - extent.low;
  double greatest = step;
  for (const double v : values) greatest = std::max(greatest, std::fabs(v));
  for (const double v : values) found.push_back({v, number_text(v, step, greatest)});
  return found;
}

std::vector<Tick> log_ticks(const Extent& extent, int count) {
  const int first = static_cast<int>(std::ceil(extent.low - 1e-9));
  const int last = static_cast<int>(std::floor(extent.high + 1e-9));
  const int most = 2 * std::max(count, 1);  // their texts are short
  const int stride = std::max(1, (last - first + most - 1) / most);
  const bool few = last - first < 1;
  std::vector<Tick> found;
  for (int power = first - 1; power <= last; ++power) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double v = digit * std::pow(10.0, power);
      const double place = std::log10(v);
      if (place < extent.low - 1e-9 || place > extent.high + 1e-9) continue;
      const bool is_named = digit == 1 ? (power - first) % stride == 0 : few;
      if (is_named || stride == 1) found.push_back({v, is_named ? fmt::format("{:g}", v) : ""});
    }
  }
  return found;
}

}  // namespace

void Range::add(double v) {
  if (!std::isfinite(v)) return;
  extent_.low = any_ ? std::min(extent_.low, v) : v;
  extent_.high = any_ ? std::max(extent_.high, v) : v;
  any_ = true;
}

Extent Range::extent() const {
  if (!any_) return {};
  if (extent_.high - extent_.low > 0 && std::isfinite(extent_.high - extent_.low)) return extent_;
  const double half = extent_.low == 0 ? 1 : std::fabs(extent_.low) * 0.5;
  if (std::isfinite(extent_.low + half) && extent_.low == extent_.high)
    return {extent_.low - half, extent_.low + half};
  return {extent_.low / 2, extent_.high / 2};
}

double Ruler::operator()(double v) const {
  return from + extent.share(is_log ? std::log10(v) : v) * (to - from);
}

Reach reach_of(const Panel& panel, double margin) {
  AxisReach x{'x', panel.x, {}};
  AxisReach y{'y', panel.y, {}};
  for (const Layer& layer : panel.layers) std::visit(Measure{x, y}, layer);
  return {x.extent(margin), y.extent(margin)};
}

std::vector<double> round_numbers(const Extent& extent, int count) {
  const double rough = (extent.high - extent.low) / std::max(count, 1);
  const double unit = std::pow(10.0, std::floor(std::log10(rough)));
  // The nearest one, by the quotient.
  const double quotient = rough / unit;
  const double step = unit * (quotient < 1.5 ? 1 : quotient < 3.5 ? 2 : quotient < 7.5 ? 5 : 10);
  std::vector<double> found;
  const double first = std::ceil(extent.low / step - 1e-9);
  for (int i = 0; i < 50 && std::isfinite(step) && step > 0; ++i) {
    const double v = (first + i) * step;
    if (v > extent.high + step * 1e-9) break;
    found.push_back(std::fabs(v) < step * 1e-9 ? 0.0 : v);
  }
  return found;
}

std::vector<Tick> ticks(const Axis& axis, const Ruler& ruler, int count) {
  std::vector<Tick> found;
  if (axis.is_counted)
    count = std::min(count, static_cast<int>(std::min(ruler.extent.high - ruler.extent.low, 1e6)));
  if (axis.names.empty())
    found = ruler.is_log ? log_ticks(ruler.extent, count) : linear_ticks(ruler.extent, count);
  for (const auto& [value, name] : axis.names) {
    if (value >= ruler.extent.low && value <= ruler.extent.high) found.push_back({value, name});
  }
  if (axis.is_reversed) std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace kiln::interp::plot
