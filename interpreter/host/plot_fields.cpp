// Pictures, and what is drawn of matrices.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/files/picture.h"
#include "interpreter/host/plot_layers.h"
#include "interpreter/plot/contour.h"
#include "interpreter/plot/scale.h"
#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/how_many.h"

namespace kiln::interp::host {
namespace {

using plot::Panel;
constexpr double kMapSteps = 255;  // as many colours as a GIF holds

kiln::Tensor matrix(const PlotCall& call, std::string_view parameter) {
  const kiln::Tensor x = call.tensor(parameter);
  if (x.rank() != 2 || x.numel() == 0)
    raise("ShapeError",
          fmt::format("{}: `{}` is a matrix; got {}", call.name(), parameter, describe(call[parameter])));
  return x;
}

// Bytes of red, green and blue of what `files::as_shown` gives; alpha over white.
std::vector<std::uint8_t> rgb_of(const kiln::Tensor& shown) {
  const auto channels = static_cast<std::size_t>(shown.size(2));
  const kiln::HostView elements(shown);
  const auto* p = elements.as<std::uint8_t>();
  std::vector<std::uint8_t> rgb;
  for (std::int64_t i = 0; i < shown.size(0) * shown.size(1); ++i, p += channels) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int level = p[channels == 1 ? 0 : c];
      rgb.push_back(
          static_cast<std::uint8_t>(channels == 4 ? (level * p[3] + 255 * (255 - p[3])) / 255 : level));
    }
  }
  return rgb;
}

void set_matrix_axes(Panel& panel) {
  panel.y.is_reversed = true;
  panel.x.is_counted = panel.y.is_counted = true;
}

void set_names(const PlotCall& call, plot::Axis& axis, std::string_view parameter, int count) {
  const std::vector<std::string> names = call.texts(parameter);
  if (names.empty()) return;
  if (names.size() != static_cast<std::size_t>(count))
    raise("ShapeError", fmt::format("{}: `{}` has {} for {}", call.name(), parameter,
                                    how_many(names.size(), "name"), count));
  axis.names.clear();
  for (std::size_t i = 0; i < names.size(); ++i) axis.names.emplace_back(static_cast<double>(i), names[i]);
}

// The numbers of a matrix in the middle of its cells, dark on bright and bright on dark.
plot::Notes cell_notes(const plot::Picture& picture, const std::vector<double>& elements) {
  plot::Notes notes;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const plot::Color below{picture.rgb[3 * i], picture.rgb[3 * i + 1], picture.rgb[3 * i + 2]};
    const plot::Color ink =
        plot::luminance(below) > 140 ? plot::Color{20, 20, 20} : plot::Color{250, 250, 250};
    const auto width = static_cast<std::size_t>(picture.width);
    notes.notes.push_back({static_cast<double>(i % width), static_cast<double>(i / width),
                           fmt::format("{:.3g}", elements[i]), ink});
  }
  return notes;
}

std::vector<double> places(const PlotCall& call, std::string_view parameter, std::size_t count,
                           std::string_view of) {
  std::vector<double> found(count);
  for (std::size_t i = 0; i < count; ++i) found[i] = static_cast<double>(i);
  if (!call[parameter].is_none()) found = call.line_of(parameter, count, of);
  for (const double v : found) {
    if (!std::isfinite(v))
      raise("ValueError", fmt::format("contour: `{}` has a number that is not finite", parameter));
  }
  return found;
}

std::vector<double> contour_levels(const PlotCall& call, const plot::Extent& extent) {
  const Value& given = call["levels"];
  if (given.is_none() || given.is(Tag::Int)) return plot::round_numbers(extent, call.size("levels", 8, 1));
  std::vector<double> levels = call.line("levels");
  std::sort(levels.begin(), levels.end());
  return levels;
}

}  // namespace

plot::Extent value_extent(const PlotCall& call, const std::vector<double>& elements) {
  plot::Range range;
  for (const double v : elements) range.add(v);
  plot::Extent extent = range.extent();
  extent.low = call.number("vmin").value_or(extent.low);
  extent.high = call.number("vmax").value_or(extent.high);
  if (!(extent.low < extent.high))
    raise("ValueError",
          fmt::format("{}: colours go from {:g} to {:g}, which is no range", call.name(), extent.low,
                      extent.high),
          "give a `vmin` below `vmax`");
  return extent;
}

plot::Picture picture_of(const kiln::Tensor& x, const plot::ColorMap& map, const plot::Extent& extent) {
  if (x.rank() != 2) {
    const kiln::Tensor shown = files::as_shown(x);
    return {static_cast<int>(shown.size(1)), static_cast<int>(shown.size(0)), rgb_of(shown)};
  }
  plot::Picture picture{static_cast<int>(x.size(1)), static_cast<int>(x.size(0)), {}};
  for (const double v : elements_of(x)) {
    const plot::Color color =
        std::isnan(v) ? plot::Color{255, 255, 255}
                      : map.at(std::round(std::clamp(extent.share(v), 0.0, 1.0) * kMapSteps) / kMapSteps);
    picture.rgb.insert(picture.rgb.end(), {color.red, color.green, color.blue});
  }
  return picture;
}

void add_picture(const PlotCall& call, Panel& panel) {
  const kiln::Tensor given = tensor_argument(call["x"], "x");
  const bool is_matrix = given.rank() == 2 && given.numel() > 0;
  const kiln::Tensor x = is_matrix ? call.tensor("x") : given;
  const plot::Extent extent = is_matrix ? value_extent(call, elements_of(x)) : plot::Extent{};
  panel.layers.emplace_back(picture_of(x, call.color_map(), extent));
  panel.is_square = true;
  set_matrix_axes(panel);
  if (is_matrix && call.flag("colorbar").value_or(false))
    panel.color_bar = plot::ColorBar{&call.color_map(), extent};
}

void add_heatmap(const PlotCall& call, Panel& panel) {
  const kiln::Tensor x = matrix(call, "x");
  const std::vector<double> elements = elements_of(x);
  const plot::Extent extent = value_extent(call, elements);
  plot::Picture picture = picture_of(x, call.color_map(), extent);
  set_names(call, panel.x, "xnames", picture.width);
  set_names(call, panel.y, "ynames", picture.height);
  set_matrix_axes(panel);
  const bool has_values = call.flag("values").value_or(false);
  plot::Notes notes = has_values ? cell_notes(picture, elements) : plot::Notes{};
  panel.layers.emplace_back(std::move(picture));
  if (has_values) panel.layers.emplace_back(std::move(notes));
  panel.color_bar = plot::ColorBar{&call.color_map(), extent};
}

void add_contours(const PlotCall& call, Panel& panel) {
  const kiln::Tensor z = matrix(call, "z");
  if (z.size(0) < 2 || z.size(1) < 2)
    raise("ShapeError",
          fmt::format("contour: `z` has at least two rows and columns; got {}", describe(call["z"])));
  plot::Field field{
      static_cast<std::size_t>(z.size(0)), static_cast<std::size_t>(z.size(1)), elements_of(z), {}, {}};
  field.x = places(call, "x", field.columns, "a row of `z`");
  field.y = places(call, "y", field.rows, "a column of `z`");
  plot::Range range;
  for (const double v : field.heights) range.add(v);
  if (range.is_empty()) raise("ValueError", "contour: there is no finite number");
  const std::vector<double> levels = contour_levels(call, range.extent());
  const plot::ColorMap& map = call.color_map();
  panel.layers.emplace_back(plot::contours_of(field, levels, map));
  if (levels.size() > 1) panel.color_bar = plot::ColorBar{&map, {levels.front(), levels.back()}};
}

}  // namespace kiln::interp::host
