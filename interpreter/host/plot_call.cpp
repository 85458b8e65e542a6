#include "interpreter/host/plot_call.h"

#include <cmath>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::interp::host {
namespace {

// Two numbers, each of which may be none; the first greater than the second turns the axis around.
void set_limits(plot::Axis& axis, const PlotCall& call, std::string_view parameter) {
  const Value& given = call[parameter];
  if (given.is_none()) return;
  const std::vector<Value>* const both = items_of(given);
  if (both == nullptr || both->size() != 2)
    raise("ValueError", fmt::format("{}: `{}` is two numbers, as (0, 10)", call.name(), parameter));
  const auto limit = [&](const Value& v) {
    return v.is_none() ? std::optional<double>() : float_argument(v, parameter);
  };
  axis.low = limit((*both)[0]);
  axis.high = limit((*both)[1]);
  for (const auto& each : {axis.low, axis.high}) {
    if (each && !std::isfinite(*each))
      raise("ValueError", fmt::format("{}: `{}` is two finite numbers", call.name(), parameter));
  }
  if (!axis.low || !axis.high) return;
  if (*axis.low == *axis.high)
    raise("ValueError",
          fmt::format("{}: the limits of `{}` are both {:g}", call.name(), parameter, *axis.low));
  if (*axis.low > *axis.high) {
    std::swap(axis.low, axis.high);
    axis.is_reversed = true;
  }
}

void set_scale(plot::Axis& axis, const PlotCall& call, std::string_view parameter, std::string_view limits) {
  const std::string scale = call.text(parameter);
  if (!scale.empty() && scale != "linear" && scale != "log")
    raise("ValueError",
          fmt::format("{}: `{}` is \"linear\" or \"log\", not \"{}\"", call.name(), parameter, scale));
  if (!scale.empty()) axis.is_log = scale == "log";
  for (const auto& each : {axis.low, axis.high}) {
    if (axis.is_log && each && *each <= 0)
      raise("ValueError", fmt::format("{}: the limit {:g} of `{}` has no place on a logarithmic axis",
                                      call.name(), *each, limits));
  }
}

}  // namespace

const Value& PlotCall::operator[](std::string_view parameter) const {
  static const Value kNone;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == parameter) return values_[i];
  }
  return kNone;
}

kiln::Tensor PlotCall::tensor(std::string_view parameter) const {
  const Value& v = (*this)[parameter];
  if (!v.is(Tag::Tensor) && !items_of(v) && !v.is(Tag::Range))
    wrong_type(parameter, "a tensor or a list of numbers", v);
  const kiln::Tensor x = v.is(Tag::Tensor) ? v.as_tensor() : tensor_from(interpreter_, v, kiln::DType::F64);
  return kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(x), kiln::DType::F64));
}

std::vector<double> PlotCall::line(std::string_view parameter) const {
  const kiln::Tensor x = tensor(parameter);
  if (x.rank() != 1)
    raise("ShapeError",
          fmt::format("{}: `{}` has one dimension; got {}", name_, parameter, describe((*this)[parameter])));
  return elements_of(x);
}

std::vector<double> PlotCall::line_of(std::string_view parameter, std::size_t count,
                                      std::string_view of) const {
  std::vector<double> found = line(parameter);
  if (found.size() != count)
    raise("ShapeError",
          fmt::format("{}: `{}` has {} numbers, {} {}", name_, parameter, found.size(), of, count));
  return found;
}

std::string PlotCall::text(std::string_view parameter) const {
  const Value& v = (*this)[parameter];
  return v.is_none() ? "" : text_argument(v, parameter);
}

std::optional<double> PlotCall::number(std::string_view parameter) const {
  const Value& v = (*this)[parameter];
  return v.is_none() ? std::optional<double>() : float_argument(v, parameter);
}

std::optional<bool> PlotCall::flag(std::string_view parameter) const {
  const Value& v = (*this)[parameter];
  return v.is_none() ? std::optional<bool>() : bool_argument(v, parameter);
}

int PlotCall::size(std::string_view parameter, int otherwise, int least) const {
  const Value& v = (*this)[parameter];
  if (v.is_none()) return otherwise;
  const std::int64_t size = int_argument(v, parameter);
  if (size < least || size > 10'000)
    raise("ValueError", fmt::format("`{}` must be from {} to 10000, is {}", parameter, least, size));
  return static_cast<int>(size);
}

std::vector<std::string> PlotCall::texts(std::string_view parameter) const {
  const Value& v = (*this)[parameter];
  std::vector<std::string> found;
  if (v.is_none()) return found;
  if (v.is(Tag::Str)) return {text_of(v)};
  for (const Value& each : interpreter_.to_vector(v)) found.push_back(str_of(interpreter_, each));
  return found;
}

plot::Color PlotCall::color(plot::Panel& panel) const {
  const std::string name = text("color");
  if (name.empty()) return plot::series_color(panel.next_color++);
  const auto found = plot::find_color(name);
  if (!found)
    raise("ValueError", fmt::format("{}: no colour is called \"{}\"", name_, name),
          fmt::format("known are {}, codes as \"#1f77b4\", and \"C0\", \"C1\", … of the series",
                      plot::known_colors()));
  return *found;
}

const plot::ColorMap& PlotCall::color_map() const {
  const std::string name = text("cmap");
  const plot::ColorMap* const map = plot::find_color_map(name.empty() ? "viridis" : name);
  if (map == nullptr)
    raise("ValueError", fmt::format("{}: no map of colours is called \"{}\"", name_, name),
          fmt::format("known are {}", plot::known_color_maps()));
  return *map;
}

std::vector<double> elements_of(const kiln::Tensor& x) {
  const kiln::HostView elements(x);
  return {elements.as<double>(), elements.as<double>() + x.numel()};
}

void set_axes(plot::Panel& panel, const PlotCall& call) {
  const auto set = [&](std::string& text, std::string_view parameter) {
    if (!call[parameter].is_none()) text = call.text(parameter);
  };
  set(panel.title, "title");
  set(panel.x.label, "xlabel");
  set(panel.y.label, "ylabel");
  set_limits(panel.x, call, "xlim");
  set_limits(panel.y, call, "ylim");
  set_scale(panel.x, call, "xscale", "xlim");
  set_scale(panel.y, call, "yscale", "ylim");
  if (const auto legend = call.flag("legend")) panel.legend = legend;
}

}  // namespace kiln::interp::host
