// Elements at computed places, and orders of elements.
#include <algorithm>
#include <numeric>

#include "tensor/onnx/rules.h"
#include "tensor/ops/advanced_index.h"

namespace kiln::onnx_rules {
namespace {

std::int64_t axis_of(const OnnxApplication& app) { return onnx_axis(app.attrs.at("dim"), app.rank(0)); }
Dims with_size(Dims sizes, std::int64_t axis, const Dim& size) {
  sizes[static_cast<std::size_t>(axis)] = size;
  return sizes;
}

// `src` cut to the sizes of the places that it goes to; one number goes to all of them.
OnnxValue cut(const OnnxApplication& app, std::size_t src, const Dims& sizes) {
  const OnnxValue x = app.input(src, app.result().dtype);
  if (sizes.empty() || app.input_types[src].sizes == sizes) return x;
  if (app.rank(src) != sizes.size()) return app.expand(x, sizes);
  OnnxInts axes(sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  return app.node("Slice", {x, app.ints(OnnxInts(axes.size(), 0)), app.sizes(sizes), app.ints(axes)});
}

// Elements of a 0-d tensor are put as into one with one dimension.
OnnxValue put(const OnnxApplication& app, const OnnxValue& x, const OnnxValue& at, const OnnxValue& src,
              const std::string& reduction) {
  OnnxAttrs attributes{{"axis", app.rank(0) == 0 ? 0 : axis_of(app)}};
  if (reduction != "none") attributes.emplace_back("reduction", reduction);
  if (app.rank(0) != 0) return app.node("ScatterElements", {x, at, src}, std::move(attributes));
  const OnnxInts first{0};
  return app.squeeze(app.node("ScatterElements",
                              {app.unsqueeze(x, first), app.unsqueeze(at, first), app.unsqueeze(src, first)},
                              std::move(attributes)),
                     first);
}

OnnxValue neutral(const OnnxApplication& app, std::string_view reduction, DType dtype) {
  const double huge = is_float(dtype) ? std::numeric_limits<double>::infinity() : 2147483647.0;
  const double value = reduction == "prod"   ? 1.0
                       : reduction == "amax" ? -huge
                       : reduction == "amin" ? huge
                                             : 0.0;
  return app.scalar(value, dtype);
}

// The integers of an advanced index, broadcast and side by side: [middle…, indexed].
struct Places {
  OnnxValue at;
  Dims middle;
  advanced_index::Order order;
};
Places places_of(const OnnxApplication& app, int first) {
  std::vector<TensorType> types;
  for (std::size_t i = static_cast<std::size_t>(first); i < app.inputs.size(); ++i)
    types.push_back(app.has(i) ? app.input_types[i] : advanced_index::kAbsent);
  const std::vector<advanced_index::Item> items = advanced_index::items_of(app.input_types[0], types, first);
  Places places;
  places.order = advanced_index::order_of(items, static_cast<int>(app.rank(0)));
  places.middle = advanced_index::broadcast_items(items);
  OnnxValues parts;
  for (const advanced_index::Item& item : items) {
    const auto operand = static_cast<std::size_t>(item.operand);
    if (app.input_types[operand].dtype == DType::Bool)
      throw OpError(ErrorKind::Capture,
                    std::string(app.op.name()) + ": how many a mask picks depends on elements");
    const OnnxValue index = app.expand(app.input(operand, DType::I64), places.middle);
    parts.push_back(app.unsqueeze(index, {-1}));
  }
  places.at = parts.size() == 1 ? parts[0] : app.node("Concat", parts, {{"axis", std::int64_t{-1}}});
  return places;
}

// The order in which indexed dimensions come first, and its inverse.
OnnxInts indexed_first(const advanced_index::Order& order) {
  const auto begin = order.dims.begin() + order.before, end = begin + order.indexed;
  OnnxInts result(begin, end);
  result.insert(result.end(), order.dims.begin(), begin);
  result.insert(result.end(), end, order.dims.end());
  return result;
}
OnnxInts inverse(const OnnxInts& order) {
  OnnxInts result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return result;
}

// [middle…, before…, rest…] with the middle behind what comes before, or the other way round.
OnnxValue moved(const OnnxApplication& app, const OnnxValue& x, std::size_t middle, std::size_t before,
                std::size_t rank, bool back) {
  OnnxInts order;
  for (std::size_t d = 0; d < before; ++d) order.push_back(static_cast<std::int64_t>(middle + d));
  for (std::size_t d = 0; d < middle; ++d) order.push_back(static_cast<std::int64_t>(d));
  for (std::size_t d = middle + before; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d));
  return app.transpose(x, back ? inverse(order) : order);
}

OnnxValues ordered(const OnnxApplication& app, const OnnxValue& count, bool largest) {
  const DType type = app.input_types[0].dtype;
  const bool is_narrow = type == DType::Bool || type == DType::U8 || type == DType::I8 || type == DType::I16;
  const OnnxValue x = app.input(0, is_narrow ? DType::I32 : type);
  const DType types[] = {x.dtype, DType::I64};
  OnnxValues results =
      app.node("TopK", {x, count}, {{"axis", axis_of(app)}, {"largest", std::int64_t{largest}}}, types);
  results[0] = app.cast(results[0], type);
  return results;
}

}  // namespace

OnnxValues gather(const OnnxApplication& app) {
  const OnnxValue x = app.input(0), at = app.input(1, DType::I64);
  if (app.rank(0) == 0 || app.rank(1) == 0) {
    const OnnxInts first{0};
    const OnnxValue flat = app.rank(0) == 0 ? app.unsqueeze(x, first) : x;
    return {app.gather(flat, at, 0)};
  }
  return {app.node("GatherElements", {x, at}, {{"axis", axis_of(app)}})};
}

OnnxValues scatter(const OnnxApplication& app) {
  return {put(app, app.input(0), app.input(1, DType::I64), cut(app, 2, app.input_types[1].sizes), "none")};
}
OnnxValues scatter_add(const OnnxApplication& app) {
  return {put(app, app.input(0), app.input(1, DType::I64), cut(app, 2, app.input_types[1].sizes), "add")};
}

// Elements of x that do not count are made neutral first. A mean is a sum over how many there are.
OnnxValues scatter_reduce(const OnnxApplication& app) {
  const std::string& kind = app.attrs.get<std::string>("reduce");
  const bool includes = app.attrs.get<bool>("include_self");
  const DType dtype = app.result().dtype;
  const Dims& sizes = app.input_types[1].sizes;
  const OnnxValue at = app.input(1, DType::I64), src = cut(app, 2, sizes);
  OnnxValue x = app.input(0);
  if (!includes) x = put(app, x, at, app.expand(neutral(app, kind, dtype), sizes), "none");
  const std::string reduction = kind == "prod"   ? "mul"
                                : kind == "amax" ? "max"
                                : kind == "amin" ? "min"
                                                 : "add";
  const OnnxValue result = put(app, x, at, src, reduction);
  if (kind != "mean") return {result};
  const OnnxValue ones = app.expand(app.scalar(1, dtype), sizes);
  const OnnxValue self = app.expand(app.scalar(includes ? 1 : 0, dtype), app.result().sizes);
  const OnnxValue count = app.node("Max", {put(app, self, at, ones, "add"), app.scalar(1, dtype)});
  const OnnxValue mean = app.node("Div", {result, count});
  return {is_float(dtype) ? mean
                          : app.cast(app.node("Floor", {app.node("Div", {app.cast(result, DType::F64),
                                                                         app.cast(count, DType::F64)})}),
                                     dtype)};
}

OnnxValues index_select(const OnnxApplication& app) {
  const OnnxValue at = app.input(1, DType::I64);
  const OnnxValue x = app.input(0);
  if (app.rank(0) == 0) return {app.node("Identity", {x})};
  return {app.gather(x, app.rank(1) == 0 ? app.unsqueeze(at, {0}) : at, axis_of(app))};
}

OnnxValues index_add(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const Attr& alpha = app.attrs.at("alpha");
  const double factor = std::holds_alternative<double>(alpha)
                            ? std::get<double>(alpha)
                            : static_cast<double>(std::get<Dim>(alpha).fixed());
  const OnnxValue src = app.node("Mul", {app.input(2, dtype), app.scalar(factor, dtype)});
  const Dims& sizes = app.input_types[2].sizes;
  OnnxValue at = app.input(1, DType::I64);
  if (app.rank(0) != 0) {
    const std::int64_t axis = axis_of(app);
    const Dims count =
        with_size(Dims(sizes.size(), 1), axis, app.rank(1) == 0 ? Dim(1) : app.input_types[1].sizes[0]);
    at = app.expand(app.reshape(at, count), sizes);
  }
  return {put(app, app.input(0), at, src, "add")};
}

OnnxValues embedding(const OnnxApplication& app) {
  return {app.gather(app.input(1), app.input(0, DType::I64), 0)};
}

OnnxValues index(const OnnxApplication& app) {
  const Places places = places_of(app, 1);
  const OnnxValue x = app.transpose(app.input(0), indexed_first(places.order));
  const OnnxValue picked = app.node("GatherND", {x, places.at});
  return {moved(app, picked, places.middle.size(), static_cast<std::size_t>(places.order.before),
                app.result().sizes.size(), false)};
}

OnnxValues index_put(const OnnxApplication& app) {
  const Places places = places_of(app, 2);
  const OnnxInts order = indexed_first(places.order);
  const Dims sizes = advanced_index::result_sizes(app.input_types[0].sizes, places.order, places.middle);
  const OnnxValue values = app.expand(app.input(1, app.result().dtype), sizes);
  const OnnxValue updates = moved(app, values, places.middle.size(),
                                  static_cast<std::size_t>(places.order.before), sizes.size(), true);
  OnnxAttrs attributes;
  if (app.attrs.get<bool>("accumulate")) attributes.emplace_back("reduction", std::string("add"));
  const OnnxValue put =
      app.node("ScatterND", {app.transpose(app.input(0), order), places.at, updates}, std::move(attributes));
  return {app.transpose(put, inverse(order))};
}

OnnxValues sort(const OnnxApplication& app) {
  if (app.rank(0) == 0) {
    OnnxValues results{app.node("Identity", {app.input(0)}), app.scalar(0, DType::I64)};
    return app.output_types.size() == 1 ? OnnxValues{results[1]} : results;
  }
  const Dim& size = app.input_types[0].sizes[static_cast<std::size_t>(axis_of(app))];
  OnnxValues results = ordered(app, app.sizes(std::span(&size, 1)), app.attrs.get<bool>("descending"));
  return app.output_types.size() == 1 ? OnnxValues{results[1]} : results;
}

OnnxValues topk(const OnnxApplication& app) {
  if (app.rank(0) == 0) return {app.node("Identity", {app.input(0)}), app.scalar(0, DType::I64)};
  const Dim& count = app.attrs.get<Dim>("k");
  return ordered(app, app.sizes(std::span(&count, 1)), app.attrs.get<bool>("largest"));
}

// How many elements of the sequence come before each value.
OnnxValues searchsorted(const OnnxApplication& app) {
  const DType dtype = promote(app.input_types[0].dtype, app.input_types[1].dtype);
  OnnxValue sequence = app.input(0, dtype);
  if (app.has(2))
    sequence = app.node("GatherElements", {sequence, app.input(2, DType::I64)}, {{"axis", std::int64_t{-1}}});
  const auto* side = app.attrs.find<std::string>("side");
  const bool is_right = app.attrs.get<bool>("right") || (side != nullptr && *side == "right");
  const OnnxValue values = app.unsqueeze(app.input(1, dtype), {-1});
  if (app.rank(0) > 1) sequence = app.unsqueeze(sequence, {-2});
  const OnnxValue before = app.node(is_right ? "LessOrEqual" : "Less", {sequence, values});
  const OnnxValue count = app.reduce("ReduceSum", app.cast(before, DType::I64), {-1}, false);
  return {app.cast(count, app.result().dtype)};
}

}  // namespace kiln::onnx_rules
