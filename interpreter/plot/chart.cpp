#include "interpreter/plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kiln::interp::plot {
namespace {

void widen(Extent& extent, bool& any, double v) {
  if (!std::isfinite(v)) return;
  extent.low = any ? std::min(extent.low, v) : v;
  extent.high = any ? std::max(extent.high, v) : v;
  any = true;
}

Extent opened(Extent extent, bool any) {
  if (!any) return {};
  if (extent.high - extent.low > 0 && std::isfinite(extent.high - extent.low)) return extent;
  const double half = extent.low == 0 ? 1 : std::fabs(extent.low) * 0.5;
  if (std::isfinite(extent.low + half)) return {extent.low - half, extent.low + half};
  return {extent.low / 2, extent.high / 2};
}

}  // namespace

Extent x_extent(const Chart& chart) {
  Extent extent;
  bool any = false;
  for (const double v : chart.edges) widen(extent, any, v);
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (std::isfinite(series.y[i])) widen(extent, any, series.x[i]);
    }
  }
  return opened(extent, any);
}

Extent y_extent(const Chart& chart) {
  Extent extent;
  bool any = false;
  if (chart.bars) widen(extent, any, 0);
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (std::isfinite(series.x[i])) widen(extent, any, series.y[i]);
    }
  }
  return opened(extent, any);
}

std::vector<double> ticks(const Extent& extent, int count) {
  const double rough = (extent.high - extent.low) / std::max(count, 1);
  const double unit = std::pow(10.0, std::floor(std::log10(rough)));
  double step = unit;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = unit * factor;
    if (step >= rough) break;
  }
  std::vector<double> found;
  const double first = std::ceil(extent.low / step - 1e-9);
  for (int i = 0; i < 50 && std::isfinite(step) && step > 0; ++i) {
    const double v = (first + i) * step;
    if (v > extent.high + step * 1e-9) break;
    found.push_back(std::fabs(v) < step * 1e-9 ? 0.0 : v);
  }
  return found;
}

std::string tick_text(double value) { return fmt::format("{:.4g}", value); }

Color series_color(std::size_t i) {
  // Okabe and Ito's, apart for every kind of sight.
  static constexpr std::array<Color, 7> kColors{{{0, 114, 178},
                                                 {230, 159, 0},
                                                 {0, 158, 115},
                                                 {204, 121, 167},
                                                 {213, 94, 0},
                                                 {86, 180, 233},
                                                 {110, 110, 110}}};
  return kColors[i % kColors.size()];
}

}  // namespace kiln::interp::plot
