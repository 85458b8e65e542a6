// Convolutions by ONNX's operators.
#include <algorithm>

#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

// One number for each spatial dimension; a single one stands for all.
OnnxInts spatial(const OnnxApplication& app, std::string_view name, std::size_t count) {
  const Dims& given = app.attrs.get<Dims>(name);
  OnnxInts values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(given[given.size() == 1 ? 0 : i].fixed());
  return values;
}

struct Windows {
  OnnxInts stride, padding, dilation;
  std::int64_t groups;
};
Windows windows_of(const OnnxApplication& app, std::size_t count) {
  return {spatial(app, "stride", count), spatial(app, "padding", count), spatial(app, "dilation", count),
          app.attrs.get<std::int64_t>("groups")};
}

OnnxInts twice(OnnxInts padding) {
  const OnnxInts front = padding;
  padding.insert(padding.end(), front.begin(), front.end());
  return padding;
}

// All of the result without padding, filled up by zeros at the end, from the padding on: for runtimes that
// let `output_padding` only be less than the stride.
OnnxValue cut_from_whole(const OnnxApplication& app, OnnxValue whole, const OnnxInts& padding,
                         const OnnxInts& beyond) {
  const std::size_t rank = app.rank(0);
  OnnxInts fill(2 * rank, 0);
  for (std::size_t d = 2; d < rank; ++d)
    fill[rank + d] = std::max<std::int64_t>(0, beyond[d - 2] - padding[d - 2]);
  whole = app.node("Pad", {whole, app.ints(fill)});
  for (std::size_t d = 2; d < rank; ++d) {
    const std::int64_t start = padding[d - 2];
    whole = app.slice(whole, app.ints({start}), app.ints({start + app.result().sizes[d].fixed()}),
                      static_cast<std::int64_t>(d));
  }
  return whole;
}

}  // namespace

OnnxValues convolution(const OnnxApplication& app) {
  if (app.rank(0) != app.rank(1)) return {};  // without examples: by the body
  const DType dtype = app.result().dtype;
  const Windows at = windows_of(app, app.rank(0) - 2);
  OnnxValues operands{app.input(0, dtype), app.input(1, dtype)};
  if (app.has(2)) operands.push_back(app.input(2, dtype));
  return {app.node("Conv", operands,
                   {{"strides", at.stride},
                    {"pads", twice(at.padding)},
                    {"dilations", at.dilation},
                    {"group", at.groups}})};
}

// What a convolution leaves out at the end of x gets no gradient: it is padding of the result.
OnnxValues convolution_input(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const std::size_t count = app.rank(0) - 2;
  const Windows at = windows_of(app, count);
  OnnxInts beyond;
  for (std::size_t d = 0; d < count; ++d) {
    const std::int64_t reach = at.dilation[d] * (app.input_types[1].sizes[d + 2].fixed() - 1) + 1;
    const std::int64_t covered =
        (app.input_types[0].sizes[d + 2].fixed() - 1) * at.stride[d] + reach - 2 * at.padding[d];
    beyond.push_back(app.result().sizes[d + 2].fixed() - covered);
  }
  bool is_usual = true;
  for (std::size_t d = 0; d < count; ++d) is_usual &= beyond[d] >= 0 && beyond[d] < at.stride[d];
  OnnxAttrs attributes{{"strides", at.stride}, {"dilations", at.dilation}, {"group", at.groups}};
  if (is_usual) {
    attributes.emplace_back("pads", twice(at.padding));
    attributes.emplace_back("output_padding", beyond);
  }
  const OnnxValue result =
      app.node("ConvTranspose", {app.input(0, dtype), app.input(1, dtype)}, std::move(attributes));
  return {is_usual ? result : cut_from_whole(app, result, at.padding, beyond)};
}

// A convolution of x, its channels as examples, with the gradient as the weight: stride and dilation change
// places. Each group is one for itself; what goes beyond the weight's sizes is cut off.
OnnxValues convolution_weight(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const std::size_t rank = app.rank(0), count = rank - 2;
  const Windows at = windows_of(app, count);
  OnnxInts order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(d < 2 ? 1 - d : d);
  const Dim in_group = app.input_types[0].sizes[1] / at.groups,
            out_group = app.input_types[1].sizes[1] / at.groups;
  const OnnxValue x = app.transpose(app.input(0, dtype), order),
                  y = app.transpose(app.input(1, dtype), order);
  const auto part = [&app](const OnnxValue& whole, const Dim& size, std::int64_t group) {
    const Dim bounds[] = {size * group, size * (group + 1)};
    return app.slice(whole, app.sizes(std::span(bounds, 1)), app.sizes(std::span(bounds + 1, 1)), 0);
  };
  OnnxValues parts;
  for (std::int64_t group = 0; group < at.groups; ++group) {
    OnnxValue product =
        app.node("Conv", {part(x, in_group, group), part(y, out_group, group)},
                 {{"strides", at.dilation}, {"pads", twice(at.padding)}, {"dilations", at.stride}});
    for (std::size_t d = 0; d < count; ++d) {
      const Dim& size = app.result().sizes[d + 2];
      product =
          app.slice(product, app.ints({0}), app.sizes(std::span(&size, 1)), static_cast<std::int64_t>(d + 2));
    }
    parts.push_back(app.transpose(product, order));
  }
  return {parts.size() == 1 ? parts[0] : app.node("Concat", parts, {{"axis", std::int64_t{0}}})};
}

}  // namespace kiln::onnx_rules
