// Views of parts of a tensor, and the scatters that put them back.
#include <algorithm>
#include <numeric>

#include "tensor/functions.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln::onnx_rules {
namespace {

std::int64_t axis_of(const OnnxApplication& app) { return onnx_axis(app.attrs.at("dim"), app.rank(0)); }
const Dim& size_along(const OnnxApplication& app, std::int64_t axis) {
  return app.input_types[0].sizes[static_cast<std::size_t>(axis)];
}
OnnxValue one(const OnnxApplication& app, const Dim& size) { return app.sizes(std::span(&size, 1)); }

Range range_of(const OnnxApplication& app, std::int64_t axis) {
  const auto get = [&](std::string_view name) {
    const auto* value = app.attrs.find<Dim>(name);
    return value != nullptr ? std::optional<Dim>(*value) : std::nullopt;
  };
  return clip_range(get("start"), get("end"), app.attrs.get<Dim>("step"), size_along(app, axis));
}

// start, start + step, … of which there are `count`.
OnnxValue places(const OnnxApplication& app, const Dim& start, const Dim& count, const Dim& step) {
  return app.node("Range", {app.size(start), app.size(start + count * step), app.size(step)});
}

// `src` at these places of one axis of x.
OnnxValue put_along(const OnnxApplication& app, std::int64_t axis, const OnnxValue& at, const OnnxValue& src,
                    const Dims& src_sizes) {
  OnnxInts beside(src_sizes.size() - static_cast<std::size_t>(axis) - 1);
  std::iota(beside.begin(), beside.end(), 1);
  const OnnxValue spread = app.expand(app.unsqueeze(at, beside), src_sizes);
  return app.node("ScatterElements", {app.input(0), spread, src}, {{"axis", axis}});
}

// The order of axes in which two of them come last.
OnnxInts last_two(std::size_t rank, std::int64_t a, std::int64_t b) {
  OnnxInts order;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    if (axis != a && axis != b) order.push_back(axis);
  }
  order.insert(order.end(), {a, b});
  return order;
}
OnnxInts inverse(const OnnxInts& order) {
  OnnxInts result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return result;
}

// A diagonal as places of the last axis, where both of its axes are one.
struct Diagonal {
  OnnxInts order;  // of axes, those of the diagonal last
  Dims flat, square;
  Dim first, count, step;
};
Diagonal diagonal_of(const OnnxApplication& app) {
  const std::size_t rank = app.rank(0);
  Diagonal result;
  result.order = last_two(rank, onnx_axis(app.attrs.at("dim1"), rank), onnx_axis(app.attrs.at("dim2"), rank));
  for (const std::int64_t axis : result.order) result.square.push_back(size_along(app, axis));
  result.flat = result.square;
  const Dim columns = result.flat.back();
  result.flat.pop_back();
  result.flat.back() *= columns;
  const std::int64_t offset = app.attrs.get<std::int64_t>("offset");
  result.first = offset >= 0 ? Dim(offset) : columns * -offset;
  result.step = columns + 1;
  return result;
}

// Where the elements of a view by strides are in the memory of an operand without gaps.
Tensor strided_places(const OnnxApplication& app) {
  const Dims& sizes = app.attrs.get<Dims>("size");
  const Dims& strides = app.attrs.get<Dims>("stride");
  const Dim* const offset = app.attrs.find<Dim>("storage_offset");
  Tensor places =
      ops::full({}, Tensor::number(offset != nullptr ? offset->fixed() : 0), DType::I64, Device{});
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    Dims alone(sizes.size(), 1);
    alone[d] = sizes[d];
    const Tensor steps = ops::arange(0, sizes[d].fixed(), 1, DType::I64, Device{});
    places = places + ops::mul(ops::reshape(steps, alone), Tensor::number(strides[d].fixed()));
  }
  return ops::contiguous(places);
}

}  // namespace

OnnxValues slice(const OnnxApplication& app) {
  const std::int64_t axis = axis_of(app);
  const Range range = range_of(app, axis);
  return {app.node("Slice", {app.input(0), one(app, range.start), one(app, range.end), app.ints({axis}),
                             one(app, range.step)})};
}

OnnxValues select(const OnnxApplication& app) {
  return {app.gather(app.input(0), app.size(app.attrs.get<Dim>("index")), axis_of(app))};
}

OnnxValues split(const OnnxApplication& app) {
  const std::int64_t axis = axis_of(app);
  const OnnxValue x = app.input(0);
  OnnxValues pieces;
  Dim start = 0;
  for (const TensorType& type : app.output_types) {
    const Dim end = start + type.sizes[static_cast<std::size_t>(axis)];
    pieces.push_back(app.slice(x, one(app, start), one(app, end), axis));
    start = end;
  }
  return pieces;
}

OnnxValues unbind(const OnnxApplication& app) {
  OnnxValues pieces;
  for (std::size_t i = 0; i < app.output_types.size(); ++i)
    pieces.push_back(app.gather(app.input(0), app.size(i), axis_of(app)));
  return pieces;
}

OnnxValues diagonal(const OnnxApplication& app) {
  const Diagonal at = diagonal_of(app);
  const OnnxValue flat = app.reshape(app.transpose(app.input(0), at.order), at.flat);
  const Dim& count = app.result().sizes.back();
  return {
      app.gather(flat, places(app, at.first, count, at.step), static_cast<std::int64_t>(at.flat.size()) - 1)};
}

OnnxValues as_strided(const OnnxApplication& app) {
  const Dim all[] = {-1};
  const OnnxValue flat = app.node("Reshape", {app.input(0), app.sizes(all)});
  return {app.gather(flat, app.constant(strided_places(app)), 0)};
}

OnnxValues unfold(const OnnxApplication& app) {
  if (app.rank(0) == 0)
    return {app.gather(app.unsqueeze(app.input(0), {0}), places(app, 0, app.attrs.get<Dim>("size"), 1), 0)};
  if (app.rank(0) == 0) {  // one window of one element, or of none
    const OnnxValue line = app.unsqueeze(app.input(0), {0});
    return {app.slice(line, app.ints({0}), one(app, app.result().sizes[0]), 0)};
  }
  const std::int64_t axis = onnx_axis(app.attrs.at("dimension"), app.rank(0));
  const Dim& windows = app.result().sizes[static_cast<std::size_t>(axis)];
  const OnnxValue first = app.unsqueeze(places(app, 0, windows, app.attrs.get<Dim>("step")), {1});
  const OnnxValue within = places(app, 0, app.attrs.get<Dim>("size"), 1);
  const OnnxValue pieces = app.gather(app.input(0), app.node("Add", {first, within}), axis);
  OnnxInts order;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(app.rank(0)); ++i) {
    if (i != axis + 1) order.push_back(i);
  }
  order.push_back(axis + 1);
  return {app.transpose(pieces, order)};
}

OnnxValues slice_scatter(const OnnxApplication& app) {
  const std::int64_t axis = axis_of(app);
  const Range range = range_of(app, axis);
  const Dims& sizes = app.input_types[1].sizes;
  const OnnxValue at = places(app, range.start, sizes[static_cast<std::size_t>(axis)], range.step);
  return {put_along(app, axis, at, app.input(1, app.result().dtype), sizes)};
}

OnnxValues select_scatter(const OnnxApplication& app) {
  const std::int64_t axis = axis_of(app);
  Dims sizes = app.input_types[0].sizes;
  sizes[static_cast<std::size_t>(axis)] = 1;
  Dim index = app.attrs.get<Dim>("index");
  if (index < 0) index += size_along(app, axis);
  const OnnxValue src = app.unsqueeze(app.input(1, app.result().dtype), {axis});
  return {put_along(app, axis, places(app, index, 1, 1), src, sizes)};
}

OnnxValues diagonal_scatter(const OnnxApplication& app) {
  const Diagonal at = diagonal_of(app);
  const OnnxValue flat = app.reshape(app.transpose(app.input(0), at.order), at.flat);
  const Dims& sizes = app.input_types[1].sizes;
  const OnnxValue spread = app.expand(places(app, at.first, sizes.back(), at.step), sizes);
  const OnnxValue put = app.node("ScatterElements", {flat, spread, app.input(1, app.result().dtype)},
                                 {{"axis", static_cast<std::int64_t>(at.flat.size()) - 1}});
  return {app.transpose(app.reshape(put, at.square), inverse(at.order))};
}

OnnxValues as_strided_scatter(const OnnxApplication& app) {
  const Dim all[] = {-1};
  const OnnxValue flat = app.node("Reshape", {app.input(0), app.sizes(all)});
  const OnnxValue src = app.node("Reshape", {app.input(1, app.result().dtype), app.sizes(all)});
  const OnnxValue at = app.node("Reshape", {app.constant(strided_places(app)), app.sizes(all)});
  const OnnxValue put = app.node("ScatterElements", {flat, at, src}, {{"axis", std::int64_t{0}}});
  return {app.reshape(put, app.result().sizes)};
}

}  // namespace kiln::onnx_rules
