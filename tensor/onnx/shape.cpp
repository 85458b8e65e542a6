// Rows that show or order elements otherwise and compute nothing.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tensor/onnx/rules.h"
#include "tensor/shape.h"

namespace kiln::onnx_rules {
namespace {

OnnxInts in_order(std::size_t rank) {
  OnnxInts order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

OnnxValues identity(const OnnxApplication& app) { return {app.node("Identity", {app.input(0)})}; }
OnnxValues cast(const OnnxApplication& app) {
  const OnnxValue x = app.input(0);
  if (x.dtype == app.result().dtype) return {app.node("Identity", {x})};
  return {app.cast(x, app.result().dtype)};
}
OnnxValues reshape(const OnnxApplication& app) { return {app.reshape(app.input(0), app.result().sizes)}; }
OnnxValues expand(const OnnxApplication& app) { return {app.expand(app.input(0), app.result().sizes)}; }

OnnxValues permute(const OnnxApplication& app) {
  OnnxInts order;
  for (const Dim& each : app.attrs.get<Dims>("dims")) order.push_back(onnx_axis(each, app.rank(0)));
  return {app.transpose(app.input(0), order)};
}

OnnxValues transpose(const OnnxApplication& app) {
  OnnxInts order = in_order(app.rank(0));
  if (app.op.name() == "t") {
    std::ranges::reverse(order);
  } else if (!order.empty()) {
    std::swap(order[static_cast<std::size_t>(onnx_axis(app.attrs.at("dim0"), order.size()))],
              order[static_cast<std::size_t>(onnx_axis(app.attrs.at("dim1"), order.size()))]);
  }
  return {app.transpose(app.input(0), order)};
}

// Sizes of 1 alone are taken away, among those that were named or among all.
OnnxValues squeeze(const OnnxApplication& app) {
  const Dims& sizes = app.input_types[0].sizes;
  const Dims* const given = app.attrs.find<Dims>("dim");
  OnnxInts axes;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool is_meant = given == nullptr || std::ranges::any_of(*given, [&](const Dim& each) {
                            return onnx_axis(each, sizes.size()) == static_cast<std::int64_t>(axis);
                          });
    if (is_meant && sizes[axis].is_known() && sizes[axis].known() == 1)
      axes.push_back(static_cast<std::int64_t>(axis));
  }
  const OnnxValue x = app.input(0);
  return {axes.empty() ? app.node("Identity", {x}) : app.squeeze(x, axes)};
}

OnnxValues unsqueeze(const OnnxApplication& app) {
  return {app.unsqueeze(app.input(0), {onnx_axis(app.attrs.at("dim"), app.rank(0) + 1)})};
}

// A list without elements and with one dimension joins any other, and gives nothing.
OnnxValues cat(const OnnxApplication& app) {
  OnnxValues parts;
  for (std::size_t i = 0; i < app.inputs.size(); ++i) {
    const Dims& sizes = app.input_types[i].sizes;
    const bool is_nothing = sizes.size() == 1 && sizes[0].is_known() && sizes[0].known() == 0;
    if (!is_nothing || app.result().sizes.size() == 1) parts.push_back(app.input(i, app.result().dtype));
  }
  return {app.node("Concat", parts, {{"axis", onnx_axis(app.attrs.at("dim"), app.result().sizes.size())}})};
}

OnnxValues stack(const OnnxApplication& app) {
  const std::int64_t axis = onnx_axis(app.attrs.at("dim"), app.result().sizes.size());
  OnnxValues parts;
  for (std::size_t i = 0; i < app.inputs.size(); ++i)
    parts.push_back(app.unsqueeze(app.input(i, app.result().dtype), {axis}));
  return {app.node("Concat", parts, {{"axis", axis}})};
}

OnnxValues flip(const OnnxApplication& app) {
  const Dims& dims = app.attrs.get<Dims>("dims");
  const OnnxValue x = app.input(0);
  if (dims.empty()) return {app.node("Identity", {x})};
  OnnxInts axes;
  for (const Dim& each : dims) axes.push_back(onnx_axis(each, app.rank(0)));
  const OnnxInts last(axes.size(), -1), beyond(axes.size(), std::numeric_limits<std::int64_t>::min());
  return {app.node("Slice", {x, app.ints(last), app.ints(beyond), app.ints(axes), app.ints(last)})};
}

// Pairs of the last dimension come first in `pad`; ONNX has all that is put in front, then all behind.
OnnxValues constant_pad(const OnnxApplication& app) {
  const Dims& pairs = app.attrs.get<Dims>("pad");
  const std::size_t rank = app.rank(0);
  Dims pads(2 * rank, 0);
  for (std::size_t k = 0; k < pairs.size() / 2; ++k) {
    pads[rank - 1 - k] = pairs[2 * k];
    pads[2 * rank - 1 - k] = pairs[2 * k + 1];
  }
  const Attr& value = app.attrs.at("value");
  const double fill = std::holds_alternative<double>(value) ? std::get<double>(value)
                      : std::holds_alternative<bool>(value)
                          ? static_cast<double>(std::get<bool>(value))
                          : static_cast<double>(std::get<Dim>(value).fixed());
  const OnnxValue x = app.input(0);
  return {
      app.node("Pad", {x, app.sizes(pads), app.scalar(fill, x.dtype)}, {{"mode", std::string("constant")}})};
}

}  // namespace kiln::onnx_rules
