// Tensors that are made: constants, ranges, padding around others.
#include <algorithm>
#include <cmath>

#include "onnx/import/call.h"
#include "onnx/import/tensors.h"
#include "tensor/functions.h"

namespace kiln::onnx {
namespace {

Values constant(Call& call) {
  if (const Tensor value = call.tensor("value")) return {value};
  if (const AttributeProto* one = call.attribute("value_float"))
    return {scalar(static_cast<double>(one->f), DType::F32)};
  if (const AttributeProto* one = call.attribute("value_int")) return {numbers_value(Dims{one->i}, true)};
  if (const AttributeProto* all = call.attribute("value_floats")) return {real_numbers(all->floats)};
  if (const AttributeProto* all = call.attribute("value_ints")) return {whole_numbers(all->ints)};
  if (call.attribute("sparse_value") != nullptr) call.refuse("is sparse, and Kiln has no sparse tensors");
  call.refuse("holds strings, and Kiln has no tensors of strings");
}

Values constant_of_shape(Call& call) {
  const Tensor value = call.tensor("value");
  const Dims sizes = call.ints(0);
  if (!value) return {ops::zeros(sizes, DType::F32)};
  return {ops::full(sizes, number_of(value), value.dtype())};
}

Values range(Call& call) {
  const DType dtype = call.inputs[0].sizes ? DType::I64 : call.x(0).dtype();
  if (!is_float(dtype)) {
    const Dim step = call.an_int(2);
    if (step == 0) call.refuse("has steps of 0");
    return {ops::arange(call.an_int(0), call.an_int(1), step, dtype)};
  }
  const double start = call.number(0, 0), end = call.number(1, 0), step = call.number(2, 1);
  if (step == 0) call.refuse("has steps of 0");
  const double count = std::max(std::ceil((end - start) / step), 0.0);
  if (!(count < 9e15)) call.refuse("has more numbers than fit");
  const Tensor places = ops::arange(0, static_cast<std::int64_t>(count), 1, DType::I64);
  return {ops::to(ops::to(places, DType::F64) * step + start, dtype)};
}

Values eye_like(Call& call) {
  const Tensor x = call.x(0);
  const AttributeProto* type = call.attribute("dtype");
  const DType dtype = type == nullptr ? x.dtype() : dtype_of(static_cast<ElementType>(type->i));
  if (x.rank() != 2) call.refuse("needs a matrix, got " + to_string(x.type()));
  const Tensor rows = ops::unsqueeze(ops::arange(0, x.size(0), 1, DType::I64), 1);
  const Tensor columns = ops::arange(0, x.size(1), 1, DType::I64);
  return {ops::to(ops::eq(ops::add(rows, Tensor::number(call.integer("k", 0))), columns), dtype)};
}

Values one_hot(Call& call) {
  Tensor index = ops::to(call.x(0), DType::I64);
  const Dim depth = call.an_int(1);
  const Tensor values = call.x(2);
  const int axis = call.axis(call.integer("axis", -1), index.rank() + 1);
  index = ops::unsqueeze(from_start(index, depth), axis);
  Dims sizes(static_cast<std::size_t>(index.rank()), 1);
  sizes[static_cast<std::size_t>(axis)] = depth;
  const Tensor places = ops::reshape(ops::arange(0, depth, 1, DType::I64), sizes);
  return {ops::where(ops::eq(index, places), ops::select(values, 0, 1), ops::select(values, 0, 0))};
}

// The pads of all dimensions as Kiln has them: pairs, the last dimension first.
Dims pairs(Call& call, int rank) {
  const std::optional<Dims> given = call.opset() >= 11 ? std::optional(call.ints(1)) : call.dims("pads");
  if (!given) call.refuse("has no pads");
  std::vector<int> axes;
  if (call.has(3)) {
    axes = call.axes(call.ints(3), rank);
  } else {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  if (given->size() != 2 * axes.size())
    call.refuse("has " + std::to_string(given->size()) + " pads for " + std::to_string(axes.size()) +
                " dimensions");
  Dims pads(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto last_first = static_cast<std::size_t>(2 * (rank - 1 - axes[i]));
    pads[last_first] = (*given)[i];
    pads[last_first + 1] = (*given)[axes.size() + i];
  }
  return pads;
}

Attr number_attr(const Tensor& number) {
  if (number.dtype() == DType::Bool) return number.item_bool();
  if (is_float(number.dtype())) return number.item_float();
  return Dim(number.item_int());
}

// Negative pads crop. Other modes than the constant repeat what is left.
Values pad(Call& call) {
  const Tensor x = call.x(0);
  const std::string mode = call.word("mode", "constant");
  const Dims pads = pairs(call, x.rank());
  if (mode == "constant") {
    Attr value = Dim(0);
    if (call.opset() < 11) value = call.real("value", 0);
    if (call.has(2)) {
      if (!call.knows(2)) static_cast<void>(call.numbers(2));  // which says what it follows
      value = number_attr(call.inputs[2].elements ? call.inputs[2].elements : call.x(2));
    }
    return {apply("constant_pad", {x}, {{"pad", pads}, {"value", value}})};
  }
  Dims crop, grow;
  for (const Dim each : pads) {
    crop.push_back(min(each, 0));
    grow.push_back(max(each, 0));
  }
  const Tensor cropped = apply("constant_pad", {x}, {{"pad", crop}});
  if (mode != "reflect" && mode != "edge" && mode != "wrap") call.refuse("has the unknown mode " + mode);
  const std::string name = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode;
  return {apply("pad", {cropped}, {{"pad", grow}, {"mode", name}})};
}

// Around the middle: what is too large is cut, what is too small gets zeros.
Values center_crop_pad(Call& call) {
  Tensor x = call.x(0);
  const Dims sizes = call.ints(1);
  std::vector<int> axes;
  if (const std::optional<Dims> given = call.dims("axes")) {
    axes = call.axes(*given, x.rank());
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  if (axes.size() != sizes.size()) call.refuse("has other numbers of sizes and axes");
  Dims pads(static_cast<std::size_t>(2 * x.rank()), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim change = sizes[i] - x.size(axes[i]);
    const auto at = static_cast<std::size_t>(2 * (x.rank() - 1 - axes[i]));
    pads[at] = change < 0 ? -floor_div(-change, 2) : floor_div(change, 2);
    pads[at + 1] = change - pads[at];
  }
  return {apply("constant_pad", {x}, {{"pad", pads}})};
}

constexpr Operator kCreateOperators[] = {
    {"CenterCropPad", center_crop_pad},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"Range", range},
};

}  // namespace

std::span<const Operator> create_operators() { return kCreateOperators; }

}  // namespace kiln::onnx
