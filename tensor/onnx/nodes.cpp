#include "tensor/onnx/nodes.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tensor/error.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"
#include "tensor/onnx/expression.h"
#include "tensor/onnx/versions.h"

namespace kiln {
namespace {

constexpr auto kGivesBool =
    std::to_array<std::string_view>({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or",
                                     "Xor", "Not", "IsNaN", "IsInf"});
constexpr auto kTakesBool = std::to_array<std::string_view>({"And", "Or", "Xor", "Not"});
constexpr auto kGivesPlaces =
    std::to_array<std::string_view>({"Shape", "Size", "NonZero", "ArgMax", "ArgMin"});

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Tensor tensor_of(const OnnxInts& values) {
  const Tensor result = Tensor::empty(std::vector<Dim>{values.size()}, DType::I64, Device{});
  const WritableHostView elements(result);
  std::ranges::copy(values, elements.as<std::int64_t>());
  return result;
}

}  // namespace

DType onnx_result(std::string_view type, std::span<const OnnxValue> operands) {
  if (is_among(kGivesBool, type)) return DType::Bool;
  if (is_among(kGivesPlaces, type)) return DType::I64;
  const std::size_t decisive = type == "Where" ? 1 : 0;
  if (decisive < operands.size()) return operands[decisive].dtype;
  throw OpError(ErrorKind::Capture,
                "the dtype of what " + std::string(type) + " gives is not told by operands");
}

bool onnx_takes_bool(std::string_view type, std::size_t operand) {
  return is_among(kTakesBool, type) || (type == "Where" && operand == 0);
}

std::int64_t onnx_code(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return 1;
    case DType::U8:
      return 2;
    case DType::I8:
      return 3;
    case DType::I16:
      return 5;
    case DType::I32:
      return 6;
    case DType::I64:
      return 7;
    case DType::Bool:
      return 9;
    case DType::F16:
      return 10;
    case DType::F64:
      return 11;
    case DType::C64:
      return 14;
    case DType::C128:
      return 15;
    case DType::BF16:
      return 16;
  }
  throw InternalError("a dtype without a code in ONNX");
}

std::int64_t onnx_axis(const Attr& dim, std::size_t rank) {
  const auto axis = std::get<Dim>(dim).fixed();
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

OnnxValue OnnxApplication::named(const OnnxValue& value) const {
  if (!value.name.empty() || !value.number) return value;
  return constant(value.number);
}

OnnxValue OnnxApplication::cast(const OnnxValue& value, DType dtype) const {
  if (value.is_absent()) return value;
  if (value.name.empty()) return constant(ops::full({}, value.number, dtype, Device{}));
  if (value.dtype == dtype) return value;
  const OnnxValue result = node("Cast", {value}, {{"to", onnx_code(dtype)}});
  return {result.name, dtype};
}

OnnxValue OnnxApplication::node(std::string_view type, const OnnxValues& operands,
                                OnnxAttrs attributes) const {
  const DType dtype = onnx_result(type, operands);
  return node(type, operands, std::move(attributes), std::span(&dtype, 1))[0];
}

OnnxValues OnnxApplication::node(std::string_view type, const OnnxValues& operands, OnnxAttrs attributes,
                                 std::span<const DType> results) const {
  if (const OperatorVersion version = version_of(type, attributes); opset() < version.first)
    throw OpError(ErrorKind::Capture, "'" + std::string(op.name()) + "' is written with " + version.words +
                                          ", which opset " + std::to_string(version.first) +
                                          " has: ask for one");
  std::vector<std::string> names;
  for (const OnnxValue& operand : operands) names.push_back(named(operand).name);
  while (!names.empty() && names.back().empty()) names.pop_back();
  const std::vector<std::string> made =
      nodes.add(type, std::move(names), std::move(attributes), results.size());
  OnnxValues values;
  for (std::size_t i = 0; i < results.size(); ++i) values.push_back({made[i], results[i]});
  return values;
}

OnnxValue OnnxApplication::scalar(double value, DType dtype) const {
  return constant(ops::full({}, Tensor::number(value), dtype, Device{}));
}

OnnxValue OnnxApplication::ints(const OnnxInts& values) const { return constant(tensor_of(values)); }

OnnxValue OnnxApplication::reshape(const OnnxValue& value, std::span<const Dim> to) const {
  const bool has_zero =
      std::ranges::any_of(to, [](const Dim& size) { return !size.is_int() || size.hint() == 0; });
  // A 0 in the list means the size of the operand, unless the attribute says that it is one.
  return node("Reshape", {value, sizes(to)},
              has_zero ? OnnxAttrs{{"allowzero", std::int64_t{1}}} : OnnxAttrs{});
}

OnnxValue OnnxApplication::expand(const OnnxValue& value, std::span<const Dim> to) const {
  return node("Expand", {value, sizes(to)});
}

OnnxValue OnnxApplication::transpose(const OnnxValue& value, const OnnxInts& order) const {
  return node("Transpose", {value}, {{"perm", order}});
}

OnnxValue OnnxApplication::unsqueeze(const OnnxValue& value, const OnnxInts& axes) const {
  return axes.empty() ? value : node("Unsqueeze", {value, ints(axes)});
}

OnnxValue OnnxApplication::squeeze(const OnnxValue& value, const OnnxInts& axes) const {
  return axes.empty() ? value : node("Squeeze", {value, ints(axes)});
}

OnnxValue OnnxApplication::gather(const OnnxValue& value, const OnnxValue& indices, std::int64_t axis) const {
  return node("Gather", {value, indices}, {{"axis", axis}});
}

OnnxValue OnnxApplication::slice(const OnnxValue& value, const OnnxValue& start, const OnnxValue& end,
                                 std::int64_t axis, std::int64_t step) const {
  return node("Slice", {value, start, end, ints({axis}), ints({step})});
}

OnnxValue OnnxApplication::reduce(std::string_view type, const OnnxValue& value, const OnnxInts& axes,
                                  bool keepdim) const {
  // Without axes all of them are reduced, which here is asked for by naming them.
  if (axes.empty()) return value;
  const bool by_operand = type == "ReduceSum" || opset() >= 18;
  OnnxAttrs attributes{{"keepdims", std::int64_t{keepdim}}};
  if (!by_operand) attributes.emplace_back("axes", axes);
  return by_operand ? node(type, {value, ints(axes)}, std::move(attributes))
                    : node(type, {value}, std::move(attributes));
}

OnnxValues write_onnx(const OnnxApplication& application) {
  const OnnxRule& rule = application.op.onnx;
  if (rule.write != nullptr) return rule.write(application);
  return {write_onnx_expression(application)};
}

}  // namespace kiln
