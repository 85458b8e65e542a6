// Lines, points and bars.
#include "interpreter/host/plot_layers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/plot/scale.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"

namespace kiln::interp::host {
namespace {

using plot::Panel;
using Numbers = std::vector<double>;

Numbers counting(std::size_t n) {
  Numbers xs(n);
  for (std::size_t i = 0; i < n; ++i) xs[i] = static_cast<double>(i);
  return xs;
}

// What an argument of `*ys` is, one line or a matrix of one line a row.
kiln::Tensor lines_tensor(const PlotCall& call, const Value& ys) {
  const NativeParameter parameter{"ys", NativeParameter::Kind::Normal, true, {}};
  Value value = ys;
  const kiln::Tensor y = PlotCall(call.interpreter(), call.name(), {&parameter, 1}, {&value, 1}).tensor("ys");
  if (y.rank() > 2 || y.rank() == 0)
    raise("ShapeError",
          fmt::format("plot: lines have one dimension, or two for several; got {}", describe(ys)));
  return y;
}

// How far a band reaches below and above a line: `band` is a half width, or (low, high).
struct Edges {
  Numbers low, high;
};
Edges band_edges(const PlotCall& call, const Numbers& y) {
  const Value& band = call["band"];
  const auto numbers = [&](Value value) {
    const NativeParameter parameter{"band", NativeParameter::Kind::Normal, true, {}};
    if (value.is(Tag::Int) || value.is(Tag::Float)) return Numbers(y.size(), float_argument(value, "band"));
    return PlotCall(call.interpreter(), call.name(), {&parameter, 1}, {&value, 1})
        .line_of("band", y.size(), "the line");
  };
  if (band.is(Tag::Tuple)) {
    const std::vector<Value>& both = *items_of(band);
    if (both.size() != 2)
      raise("ValueError", "plot: `band` is half the width of the band, or its two edges (low, high)");
    return {numbers(both[0]), numbers(both[1])};
  }
  const Numbers half = numbers(band);
  Edges edges{y, y};
  for (std::size_t i = 0; i < y.size(); ++i) {
    edges.low[i] -= half[i];
    edges.high[i] += half[i];
  }
  return edges;
}

// Fractions are written on an axis as soon as one layer has numbers that are no counts.
void set_counted(plot::Axis& axis, const Panel& panel, bool counts) {
  axis.is_counted = counts && (panel.layers.empty() || axis.is_counted);
}

}  // namespace

void add_lines(const PlotCall& call, Panel& panel) {
  set_counted(panel.x, panel, call["x"].is_none());
  panel.y.is_counted = false;
  std::vector<std::string> labels = call.texts("label");
  if (labels.empty()) labels = call.texts("labels");
  std::size_t drawn = 0;
  for (const Value& ys : call["ys"].as<Tuple>().items) {
    const kiln::Tensor y = lines_tensor(call, ys);
    const auto length = static_cast<std::size_t>(y.size(y.rank() - 1));
    const Numbers x = call["x"].is_none() ? counting(length) : call.line_of("x", length, "a line");
    const Numbers all = elements_of(y);
    for (std::size_t at = 0; at + length <= all.size() && length > 0; at += length) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
      plot::Line line{drawn < labels.size() ? labels[drawn] : "", call.color(panel), x,
                      Numbers(first, first + static_cast<std::ptrdiff_t>(length))};
      if (!call["band"].is_none()) {
        Edges edges = band_edges(call, line.y);
        panel.layers.emplace_back(plot::Band{"", line.color, x, std::move(edges.low), std::move(edges.high)});
      }
      panel.layers.emplace_back(std::move(line));
      ++drawn;
    }
  }
  if (drawn == 0) raise("ValueError", "plot: there is nothing to draw");
}

void add_points(const PlotCall& call, Panel& panel) {
  panel.x.is_counted = panel.y.is_counted = false;
  plot::Points points;
  points.label = call.text("label");
  points.x = call.line("x");
  points.y = call.line_of("y", points.x.size(), "`x`");
  if (points.x.empty()) raise("ValueError", fmt::format("{}: there is nothing to draw", call.name()));
  points.radius = call.number("size").value_or(3);
  points.opacity = call.number("alpha").value_or(1);
  if (!(points.radius > 0 && points.radius <= 100))
    raise("ValueError", fmt::format("{}: `size` is a radius of at most 100 pixels", call.name()));
  if (!(points.opacity > 0 && points.opacity <= 1))
    raise("ValueError", fmt::format("{}: `alpha` is from 0 (not seen) to 1", call.name()));
  if (call["c"].is_none()) {
    points.colors = {call.color(panel)};
  } else {
    const Numbers values = call.line_of("c", points.x.size(), "`x`");
    const plot::ColorMap& map = call.color_map();
    const plot::Extent extent = value_extent(call, values);
    for (const double v : values) points.colors.push_back(map.at(extent.share(v)));
    panel.color_bar = plot::ColorBar{&map, extent};
  }
  panel.layers.emplace_back(std::move(points));
}

void add_bars(const PlotCall& call, Panel& panel) {
  constexpr double kHalf = 0.4;
  panel.x.is_counted = panel.y.is_counted = false;
  plot::Bars bars{call.text("label"), call.color(panel), {}, call.line("heights")};
  if (bars.heights.empty()) raise("ValueError", "bar: there is nothing to draw");
  const std::vector<Value>* const items = items_of(call["x"]);
  const bool is_named = items != nullptr && std::any_of(items->begin(), items->end(),
                                                        [](const Value& v) { return v.is(Tag::Str); });
  const Numbers x = is_named ? counting(items->size()) : call.line("x");
  if (x.size() != bars.heights.size())
    raise("ShapeError", fmt::format("bar: `x` has {} bars, `heights` {}", x.size(), bars.heights.size()));
  double least = 1;
  for (std::size_t i = 1; !is_named && i < x.size(); ++i) least = std::min(least, std::fabs(x[i] - x[i - 1]));
  for (const double at : x) bars.spans.push_back({at - kHalf * least, at + kHalf * least});
  if (is_named) {
    panel.x.names.clear();
    const std::vector<std::string> names = call.texts("x");
    for (std::size_t i = 0; i < names.size(); ++i) panel.x.names.emplace_back(x[i], names[i]);
  }
  panel.layers.emplace_back(std::move(bars));
}

void add_histogram(const PlotCall& call, Panel& panel) {
  set_counted(panel.y, panel, true);
  Numbers values = elements_of(call.tensor("x"));
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) raise("ValueError", "hist: there is no finite number");
  const auto bins = static_cast<std::size_t>(call.size("bins", 10, 1));
  plot::Range range;
  for (const double v : values) range.add(v);
  const plot::Extent extent = range.extent();
  plot::Bars bars{call.text("label"), call.color(panel), {}, Numbers(bins)};
  const auto edge = [&](std::size_t i) {
    const double t = static_cast<double>(i) / static_cast<double>(bins);
    return extent.low * (1 - t) + extent.high * t;
  };
  for (std::size_t i = 0; i < bins; ++i) bars.spans.push_back({edge(i), edge(i + 1)});
  for (const double v : values) {
    const double place = extent.share(v) * static_cast<double>(bins);
    bars.heights[std::min(static_cast<std::size_t>(std::max(place, 0.0)), bins - 1)] += 1;
  }
  panel.layers.emplace_back(std::move(bars));
}

}  // namespace kiln::interp::host
