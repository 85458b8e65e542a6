// Reductions, and scans by doubling: ONNX has no scan but the sum.
#include <limits>
#include <numeric>

#include "tensor/onnx/rules.h"
#include "tensor/shape.h"

namespace kiln::onnx_rules {
namespace {

// The axes of `dim`: all of them where it is none or empty.
OnnxInts axes_of(const OnnxApplication& app) {
  const auto rank = static_cast<int>(app.rank(0));
  const Dims* const given = app.attrs.find<Dims>("dim");
  OnnxInts axes;
  if (given != nullptr && !given->empty()) {
    for (const Dim& each : wrap_dims(*given, rank, app.op.name())) axes.push_back(each.fixed());
  } else {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

OnnxValues reduced(const OnnxApplication& app, std::string_view type) {
  const OnnxValue x = app.input(0, app.result().dtype);
  const OnnxInts axes = axes_of(app);
  if (axes.empty()) return {app.node("Identity", {x})};
  return {app.reduce(type, x, axes, app.attrs.get<bool>("keepdim"))};
}

// Bools are compared as integers.
OnnxValues extremum(const OnnxApplication& app, std::string_view type) {
  const DType dtype = app.input_types[0].dtype;
  const OnnxInts axes = axes_of(app);
  if (axes.empty()) return {app.node("Identity", {app.input(0)})};
  const OnnxValue x = app.input(0, dtype == DType::Bool ? DType::I32 : dtype);
  return {app.cast(app.reduce(type, x, axes, app.attrs.get<bool>("keepdim")), dtype)};
}

std::int64_t scanned_axis(const OnnxApplication& app) { return onnx_axis(app.attrs.at("dim"), app.rank(0)); }

// x moved by `places` along an axis toward its end, with `fill` where nothing comes.
OnnxValue shifted(const OnnxApplication& app, const OnnxValue& x, std::int64_t axis, std::int64_t places,
                  double fill) {
  OnnxInts pads(2 * app.rank(0), 0);
  pads[static_cast<std::size_t>(axis)] = places;
  pads[app.rank(0) + static_cast<std::size_t>(axis)] = -places;
  return app.node("Pad", {x, app.ints(pads), app.scalar(fill, x.dtype)}, {{"mode", std::string("constant")}});
}

std::int64_t scanned_size(const OnnxApplication& app) {
  return app.rank(0) == 0 ? 1 : app.input_types[0].sizes[static_cast<std::size_t>(scanned_axis(app))].fixed();
}

double lowest(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return dtype == DType::I64 ? static_cast<double>(std::numeric_limits<std::int64_t>::min())
                             : static_cast<double>(std::numeric_limits<std::int32_t>::min());
}
double highest(DType dtype) {
  if (is_float(dtype)) return std::numeric_limits<double>::infinity();
  // The next lower number that an f64 can be.
  return dtype == DType::I64 ? 9223372036854774784.0
                             : static_cast<double>(std::numeric_limits<std::int32_t>::max());
}

}  // namespace

OnnxValues sum(const OnnxApplication& app) { return reduced(app, "ReduceSum"); }
OnnxValues prod(const OnnxApplication& app) { return reduced(app, "ReduceProd"); }
OnnxValues amax(const OnnxApplication& app) { return extremum(app, "ReduceMax"); }
OnnxValues amin(const OnnxApplication& app) { return extremum(app, "ReduceMin"); }

OnnxValues extremum_along(const OnnxApplication& app) {
  const bool is_max = app.op.name() == "max.dim", keepdim = app.attrs.get<bool>("keepdim");
  const DType dtype = app.input_types[0].dtype;
  const OnnxValue x = app.input(0, dtype == DType::Bool ? DType::I32 : dtype);
  if (app.rank(0) == 0) return {app.node("Identity", {app.input(0)}), app.scalar(0, DType::I64)};
  const std::int64_t axis = scanned_axis(app);
  const OnnxValue places =
      app.node(is_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", std::int64_t{keepdim}}});
  return {app.cast(app.reduce(is_max ? "ReduceMax" : "ReduceMin", x, {axis}, keepdim), dtype), places};
}

// Among all elements where no dimension is given, which then are one row.
OnnxValues place_of_extremum(const OnnxApplication& app) {
  const bool keepdim = app.attrs.get<bool>("keepdim"), is_whole = !app.attrs.has("dim");
  const DType dtype = app.input_types[0].dtype;
  OnnxValue x = app.input(0, dtype == DType::Bool ? DType::I32 : dtype);
  if (app.rank(0) == 0 || is_whole) {
    const Dim all[] = {-1};
    x = app.node("Reshape", {x, app.sizes(all)});
  }
  const std::int64_t axis = app.rank(0) == 0 || is_whole ? 0 : scanned_axis(app);
  const OnnxValue place = app.node(app.op.name() == "argmax" ? "ArgMax" : "ArgMin", {x},
                                   {{"axis", axis}, {"keepdims", std::int64_t{keepdim && !is_whole}}});
  return {app.rank(0) == 0 || is_whole ? app.reshape(place, app.result().sizes) : place};
}

OnnxValues cumsum(const OnnxApplication& app) {
  const OnnxValue x = app.input(0, app.result().dtype);
  if (app.rank(0) == 0) return {app.node("Identity", {x})};
  return {app.node("CumSum", {x, app.size(scanned_axis(app))})};
}

OnnxValues cumprod(const OnnxApplication& app) {
  OnnxValue result = app.node("Identity", {app.input(0, app.result().dtype)});
  const std::int64_t size = scanned_size(app);
  for (std::int64_t places = 1; places < size; places *= 2)
    result = app.node("Mul", {result, shifted(app, result, scanned_axis(app), places, 1)});
  return {result};
}

// Of equal elements the later one counts, as its place does.
OnnxValues cumulative_extremum(const OnnxApplication& app) {
  const bool is_max = app.op.name() == "cummax";
  const TensorType& type = app.input_types[0];
  OnnxValue best = app.node("Identity", {app.input(0)});
  if (app.rank(0) == 0) return {best, app.scalar(0, DType::I64)};
  const std::int64_t axis = scanned_axis(app), size = scanned_size(app);
  OnnxInts beside(app.rank(0) - static_cast<std::size_t>(axis) - 1);
  std::iota(beside.begin(), beside.end(), 1);
  const OnnxValue counted = app.node("Range", {app.size(0), app.size(size), app.size(1)});
  OnnxValue places = app.expand(app.unsqueeze(counted, beside), type.sizes);
  for (std::int64_t by = 1; by < size; by *= 2) {
    const OnnxValue before = shifted(app, best, axis, by, is_max ? lowest(type.dtype) : highest(type.dtype));
    const OnnxValue place = shifted(app, places, axis, by, 0);
    const OnnxValue is_better = app.node(is_max ? "Greater" : "Less", {before, best});
    best = app.node("Where", {is_better, before, best});
    places = app.node("Where", {is_better, place, places});
  }
  return {best, places};
}

OnnxValues softmax(const OnnxApplication& app) {
  const OnnxValue x = app.input(0, app.result().dtype);
  const bool is_log = app.op.name() == "log_softmax";
  if (app.rank(0) == 0) return {app.scalar(is_log ? 0 : 1, x.dtype)};
  return {app.node(is_log ? "LogSoftmax" : "Softmax", {x}, {{"axis", scanned_axis(app)}})};
}

}  // namespace kiln::onnx_rules
