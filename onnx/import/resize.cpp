// Resizing images: along each dimension a few neighbours with weights that the host computes.
#include <algorithm>
#include <cmath>

#include "onnx/import/call.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::onnx {
namespace {

struct Axis {
  std::int64_t size = 0, wanted = 0;
  double scale = 1;
  double begin = 0, end = 1;  // of the region that is resized
};

struct Settings {
  std::string mode, place, nearest;
  bool antialias = false, excludes = false;
  double cubic = -0.75, beyond = 0;
};

// Where an element of the result lies among those of the input.
double place_of(Call& call, const Settings& set, const Axis& axis, double at) {
  const double size = static_cast<double>(axis.size), wanted = axis.scale * size;
  if (set.place == "align_corners") return wanted == 1 ? 0 : at * (size - 1) / (wanted - 1);
  if (set.place == "asymmetric") return at / axis.scale;
  if (set.place == "tf_crop_and_resize") {
    const double within = wanted == 1 ? (axis.end - axis.begin) * (size - 1) / 2
                                      : at * (axis.end - axis.begin) * (size - 1) / (wanted - 1);
    return within + axis.begin * (size - 1);
  }
  if (set.place == "pytorch_half_pixel" && wanted == 1) return -0.5;
  const double half = (at + 0.5) / axis.scale - 0.5;
  if (set.place == "half_pixel_symmetric")
    return size / 2 * (1 - static_cast<double>(axis.wanted) / wanted) + half;
  if (set.place == "half_pixel" || set.place == "pytorch_half_pixel") return half;
  if (set.place == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  call.refuse("has the unknown coordinate_transformation_mode " + set.place);
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of neighbours from floor(place) + first on; `ratio` is in (0, 1].
struct Neighbours {
  std::int64_t first = 0;
  std::vector<double> weights;
};
Neighbours neighbours(Call& call, const Settings& set, const Axis& axis, double ratio) {
  if (set.mode == "nearest") {
    bool up = ratio > 0.5;
    if (set.nearest == "round_prefer_ceil") up = ratio >= 0.5;
    if (set.nearest == "floor") up = false;
    if (set.nearest == "ceil") up = true;
    return {up || ratio == 1 ? 1 : 0, {1}};
  }
  const bool is_cubic = set.mode == "cubic";
  if (!is_cubic && set.mode != "linear") call.refuse("has the unknown mode " + set.mode);
  const double scale = set.antialias ? std::min(axis.scale, 1.0) : 1;
  const double reach = is_cubic ? 2 : 1;
  const auto first = static_cast<std::int64_t>(std::floor(-reach / scale)) + 1;
  Neighbours all{first, {}};
  double total = 0;
  for (std::int64_t i = first; i < first + 2 * (1 - first); ++i) {
    const double x = scale * (static_cast<double>(i) - ratio);
    all.weights.push_back(is_cubic ? cubic_weight(x, set.cubic) : std::clamp(1 - std::abs(x), 0.0, 1.0));
    total += all.weights.back();
  }
  for (double& each : all.weights) each /= total;
  return all;
}

Tensor floats(const std::vector<double>& numbers, const Dims& sizes, DType dtype) {
  const Tensor made = Tensor::empty(sizes, DType::F64);
  if (!numbers.empty()) {
    const WritableHostView memory(made);
    std::copy(numbers.begin(), numbers.end(), memory.as<double>());
  }
  return ops::to(made, dtype);
}

Tensor resized(Call& call, const Settings& set, const Tensor& x, int dim, const Axis& axis) {
  std::vector<std::int64_t> places;
  std::vector<double> weights, outside;
  std::size_t count = 1;
  for (std::int64_t at = 0; at < axis.wanted; ++at) {
    const double place = place_of(call, set, axis, static_cast<double>(at));
    // A place on an element belongs to the window before it.
    const bool is_whole = place == std::floor(place);
    const auto floor = static_cast<std::int64_t>(std::floor(place)) - (is_whole ? 1 : 0);
    Neighbours near = neighbours(call, set, axis, is_whole ? 1 : place - std::floor(place));
    count = near.weights.size();
    double total = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t from = floor + near.first + static_cast<std::int64_t>(k);
      if (set.excludes && (from < 0 || from >= axis.size)) near.weights[k] = 0;
      total += near.weights[k];
      places.push_back(std::clamp<std::int64_t>(from, 0, axis.size - 1));
    }
    for (const double each : near.weights)
      weights.push_back(set.excludes && total != 0 ? each / total : each);
    const bool is_outside =
        set.place == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(axis.size - 1));
    outside.push_back(is_outside ? 1 : 0);
  }
  Tensor taken = ops::index_select(x, dim, whole_numbers(places));
  if (count > 1) {
    Dims apart(x.sizes().begin(), x.sizes().begin() + dim);
    apart.push_back(axis.wanted);
    apart.push_back(static_cast<std::int64_t>(count));
    Dims shape{axis.wanted, static_cast<std::int64_t>(count)};
    for (int d = dim + 1; d < x.rank(); ++d) {
      apart.push_back(x.size(d));
      shape.push_back(1);
    }
    taken = ops::sum(ops::reshape(taken, apart) * floats(weights, shape, x.dtype()), Dims{dim + 1});
  }
  if (std::find(outside.begin(), outside.end(), 1) == outside.end()) return taken;
  Dims shape{axis.wanted};
  for (int d = dim + 1; d < x.rank(); ++d) shape.push_back(1);
  return ops::where(ops::gt(floats(outside, shape, DType::F32), scalar(0, DType::F32)),
                    scalar(set.beyond, x.dtype()), taken);
}

// The dimensions by scales or by sizes, which may keep the picture's proportions.
std::vector<Axis> axes_of(Call& call, const Tensor& x, const std::vector<int>& dims, std::size_t scales,
                          std::size_t sizes) {
  std::vector<Axis> all(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) all[i].size = x.size(dims[i]).fixed();
  if (call.has(sizes) && (call.inputs[sizes].sizes || call.x(sizes).numel() > 0)) {
    const Dims wanted = call.ints(sizes);
    if (wanted.size() != dims.size()) call.refuse("has other numbers of sizes and dimensions");
    const std::string policy = call.word("keep_aspect_ratio_policy", "stretch");
    double common = policy == "not_larger" ? INFINITY : 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      all[i].wanted = wanted[i].fixed();
      all[i].scale = static_cast<double>(all[i].wanted) / static_cast<double>(all[i].size);
      common = policy == "not_larger" ? std::min(common, all[i].scale) : std::max(common, all[i].scale);
    }
    if (policy == "stretch") return all;
    for (Axis& each : all) {
      each.scale = common;
      each.wanted = static_cast<std::int64_t>(common * static_cast<double>(each.size) + 0.5);
    }
    return all;
  }
  const std::vector<double> given = call.numbers(scales);
  if (given.size() != dims.size()) call.refuse("has other numbers of scales and dimensions");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    all[i].scale = given[i];
    const double wanted = std::floor(given[i] * static_cast<double>(all[i].size));
    if (!(wanted >= 0 && wanted < 1e9)) call.refuse("has a scale that no size fits");
    all[i].wanted = static_cast<std::int64_t>(wanted);
  }
  return all;
}

Values resize(Call& call) {
  const Tensor x = call.x(0);
  const bool is_old = call.opset() < 11;  // without a region: x, scales
  Settings set{call.word("mode", "nearest"),
               call.word("coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel"),
               call.word("nearest_mode", is_old ? "floor" : "round_prefer_floor"),
               call.integer("antialias", 0) != 0,
               call.integer("exclude_outside", 0) != 0,
               call.real("cubic_coeff_a", -0.75),
               call.real("extrapolation_value", 0)};
  std::vector<int> dims;
  if (const std::optional<Dims> given = call.dims("axes")) {
    dims = call.axes(*given, x.rank());
  } else {
    for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  }
  std::vector<Axis> axes = axes_of(call, x, dims, is_old ? 1 : 2, 3);
  if (set.place == "tf_crop_and_resize" && call.has(1)) {
    const std::vector<double> region = call.numbers(1);
    if (region.size() != 2 * axes.size()) call.refuse("has a region of other dimensions");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i].begin = region[i];
      axes[i].end = region[axes.size() + i];
    }
  }
  const bool is_narrow = !is_float(x.dtype()) || size_of(x.dtype()) < 4;
  Tensor result = is_narrow && set.mode != "nearest" ? ops::to(x, DType::F32) : x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.size < 1) call.refuse("resizes " + to_string(x.type()) + ", which has no element");
    if (axis.scale == 1 && axis.wanted == axis.size && axis.begin == 0 && axis.end == 1) continue;
    result = resized(call, set, result, dims[i], axis);
  }
  return {ops::to(result, x.dtype())};
}

constexpr Operator kResizeOperators[] = {
    {"Resize", resize},
    {"Upsample", resize},
};

}  // namespace

std::span<const Operator> resize_operators() { return kResizeOperators; }

}  // namespace kiln::onnx
