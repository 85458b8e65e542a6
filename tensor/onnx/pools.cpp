// Pools of planes: by ONNX's operators where those have the same windows, else by tables of their places.
#include <algorithm>

#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/pooling.h"

namespace kiln::onnx_rules {
namespace {

Dims planes_of(const TensorType& type) { return {type.sizes.end() - 2, type.sizes.end()}; }

OnnxInts pair(const OnnxApplication& app, std::string_view name) {
  const Dims& given = app.attrs.get<Dims>(name);
  return {given.front().fixed(), given.back().fixed()};
}
OnnxInts strides(const OnnxApplication& app) {
  return pair(app, app.attrs.find<Dims>("stride") != nullptr ? "stride" : "kernel_size");
}
OnnxInts pads(const OnnxApplication& app) {
  const OnnxInts padding = pair(app, "padding");
  return {padding[0], padding[1], padding[0], padding[1]};
}

// Images without examples as one example.
OnnxValue as_examples(const OnnxApplication& app, const OnnxValue& x) {
  return app.rank(0) == 3 ? app.unsqueeze(x, {0}) : x;
}
OnnxValue as_before(const OnnxApplication& app, const OnnxValue& x) {
  return app.rank(0) == 3 ? app.squeeze(x, {0}) : x;
}

// The places of each window along one dimension, [windows, places]; shorter ones repeat their last place.
Tensor table_of(const WindowAxis& axis) {
  std::vector<std::vector<std::int64_t>> rows;
  std::size_t longest = 1;
  for (long long i = 0; i < axis.count; ++i) {
    const Window window = window_at(axis, i);
    std::vector<std::int64_t>& row = rows.emplace_back();
    for (long long place = window.begin; place < window.end; place += axis.is_adaptive ? 1 : axis.dilation)
      row.push_back(place);
    longest = std::max(longest, row.size());
  }
  const Tensor table = Tensor::empty(std::vector<Dim>{rows.size(), longest}, DType::I64, Device{});
  const WritableHostView elements(table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].resize(longest, rows[i].empty() ? 0 : rows[i].back());
    std::ranges::copy(rows[i], elements.as<std::int64_t>() + i * longest);
  }
  return table;
}

// What each place of a dimension adds to the average of each window, [windows, places].
Tensor shares_of(const WindowAxis& axis, bool divides) {
  const Tensor shares = Tensor::empty(std::vector<Dim>{axis.count, axis.size}, DType::F64, Device{});
  const WritableHostView elements(shares);
  std::fill_n(elements.as<double>(), axis.count * axis.size, 0.0);
  for (long long i = 0; i < axis.count; ++i) {
    const Window window = window_at(axis, i);
    for (long long place = window.begin; place < window.end; ++place)
      elements.as<double>()[i * axis.size + place] = divides ? 1.0 / static_cast<double>(window.weight) : 1.0;
  }
  return shares;
}

OnnxValues max_by_table(const OnnxApplication& app) {
  const Dims planes = planes_of(app.input_types[0]);
  const auto rank = static_cast<std::int64_t>(app.rank(0));
  const Tensor rows = table_of(ops::window_axis(planes, 0, app.attrs));
  const Tensor columns = table_of(ops::window_axis(planes, 1, app.attrs));
  // [..., windows, places, windows, places], then both kinds of places as one last dimension.
  OnnxValue x = app.gather(app.input(0), app.constant(columns), rank - 1);
  x = app.gather(x, app.constant(rows), rank - 2);
  OnnxInts order;
  for (std::int64_t d = 0; d < rank - 2; ++d) order.push_back(d);
  for (const std::int64_t d : {0, 2, 1, 3}) order.push_back(rank - 2 + d);
  Dims sizes = app.result().sizes;
  sizes.push_back(rows.size(1) * columns.size(1));
  const OnnxValue windows = app.reshape(app.transpose(x, order), sizes);
  const OnnxValue best = app.node("ArgMax", {windows}, {{"axis", rank}, {"keepdims", std::int64_t{0}}});
  const Dims outer{rows.size(0), 1, rows.size(1), 1}, inner{1, columns.size(0), 1, columns.size(1)};
  const Tensor before = ops::mul(ops::reshape(rows, outer), Tensor::number(planes[1].fixed()));
  const Tensor places = before + ops::reshape(columns, inner);
  const Dims cells{rows.size(0), columns.size(0), rows.size(1) * columns.size(1)};
  const OnnxValue table = app.expand(app.constant(ops::contiguous(ops::reshape(places, cells))), sizes);
  const OnnxValue at = app.node("GatherElements", {table, app.unsqueeze(best, {rank})}, {{"axis", rank}});
  return {app.reduce("ReduceMax", windows, {rank}, false), app.squeeze(at, {rank})};
}

// A matrix from one side of the planes, another one from the other.
OnnxValue between(const OnnxApplication& app, const Tensor& left, const Tensor& right) {
  const DType dtype = app.result().dtype;
  const auto constant = [&](const Tensor& x) { return app.constant(ops::contiguous(ops::to(x, dtype))); };
  return app.node("MatMul", {app.node("MatMul", {constant(left), app.input(0)}), constant(right)});
}

struct Shares {
  Tensor rows, columns;
};
Shares shares(const OnnxApplication& app, const Dims& planes) {
  const std::int64_t divisor = ops::average_divisor(app.attrs);
  const Tensor rows = shares_of(ops::window_axis(planes, 0, app.attrs), divisor == 0);
  const Tensor columns = shares_of(ops::window_axis(planes, 1, app.attrs), divisor == 0);
  return {divisor == 0 ? rows : rows / static_cast<double>(divisor), columns};
}

}  // namespace

OnnxValues max_pool(const OnnxApplication& app) {
  const bool has_windows = !ops::is_adaptive(app.attrs) && !app.attrs.get<bool>("ceil_mode");
  if (!has_windows || !is_float(app.input_types[0].dtype)) return max_by_table(app);
  const DType types[] = {app.result().dtype, DType::I64};
  const OnnxValues pooled = app.node("MaxPool", {as_examples(app, app.input(0))},
                                     {{"kernel_shape", pair(app, "kernel_size")},
                                      {"strides", strides(app)},
                                      {"pads", pads(app)},
                                      {"dilations", pair(app, "dilation")}},
                                     types);
  // ONNX counts places from the first plane of all on.
  const Dims planes = planes_of(app.input_types[0]);
  const OnnxValue places = app.node("Mod", {pooled[1], app.size(planes[0] * planes[1])});
  return {as_before(app, pooled[0]), as_before(app, places)};
}

OnnxValues max_pool_backward(const OnnxApplication& app) {
  Dims flat{app.input_types[0].sizes.begin(), app.input_types[0].sizes.end() - 2};
  Dims whole = flat;
  flat.push_back(-1);
  const Dims planes = planes_of(app.result());
  whole.push_back(planes[0] * planes[1]);
  const auto axis = static_cast<std::int64_t>(flat.size()) - 1;
  const OnnxValue zeros = app.expand(app.scalar(0, app.result().dtype), whole);
  const auto flattened = [&](const OnnxValue& x) { return app.node("Reshape", {x, app.sizes(flat)}); };
  const OnnxValue sums =
      app.node("ScatterElements", {zeros, flattened(app.input(1, DType::I64)), flattened(app.input(0))},
               {{"axis", axis}, {"reduction", std::string("add")}});
  return {app.reshape(sums, app.result().sizes)};
}

OnnxValues average_pool(const OnnxApplication& app) {
  const bool has_windows = !app.attrs.get<bool>("ceil_mode") && ops::average_divisor(app.attrs) == 0 &&
                           is_float(app.result().dtype);
  if (!has_windows) return adaptive_average_pool(app);
  const std::int64_t counts = app.attrs.get<bool>("count_include_pad") ? 1 : 0;
  return {as_before(app, app.node("AveragePool", {as_examples(app, app.input(0))},
                                  {{"kernel_shape", pair(app, "kernel_size")},
                                   {"strides", strides(app)},
                                   {"pads", pads(app)},
                                   {"count_include_pad", counts}}))};
}

OnnxValues adaptive_average_pool(const OnnxApplication& app) {
  const Shares by = shares(app, planes_of(app.input_types[0]));
  return {between(app, by.rows, ops::transpose(by.columns, 0, 1))};
}

OnnxValues adaptive_average_pool_backward(const OnnxApplication& app) {
  const Shares by = shares(app, planes_of(app.result()));
  return {between(app, ops::transpose(by.rows, 0, 1), by.columns)};
}

OnnxValues average_pool_backward(const OnnxApplication& app) { return adaptive_average_pool_backward(app); }

}  // namespace kiln::onnx_rules
