// Rows that make tensors from nothing, or from sizes alone.
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

OnnxValues filled(const OnnxApplication& app, const OnnxValue& value) {
  return {app.expand(value, app.result().sizes)};
}

// 0, 1, … below `count`, in i64[count].
OnnxValue counted(const OnnxApplication& app, const Dim& count) {
  return app.node("Range", {app.size(0), app.size(count), app.size(1)});
}

// A number among the attributes, as a value of the dtype.
OnnxValue number(const OnnxApplication& app, std::string_view name, DType dtype) {
  const Attr& value = app.attrs.at(name);
  if (const auto* real = std::get_if<double>(&value)) return app.scalar(*real, dtype);
  if (const auto* truth = std::get_if<bool>(&value)) return app.scalar(*truth ? 1 : 0, dtype);
  return app.cast(app.size(std::get<Dim>(value)), dtype);
}

// Where column less row is on the wanted side of the diagonal, the elements, and 0 elsewhere.
OnnxValue triangle_by_places(const OnnxApplication& app, const OnnxValue& diagonal, bool is_upper) {
  const Dims& sizes = app.result().sizes;
  const OnnxValue rows = app.unsqueeze(counted(app, sizes[sizes.size() - 2]), {1});
  const OnnxValue apart = app.node("Sub", {counted(app, sizes.back()), rows});
  const OnnxValue is_kept = app.node(is_upper ? "GreaterOrEqual" : "LessOrEqual", {apart, diagonal});
  // Runtimes choose no bools.
  if (app.result().dtype == DType::Bool) return app.node("And", {is_kept, app.input(0)});
  return app.node("Where", {is_kept, app.input(0), app.scalar(0, app.result().dtype)});
}

}  // namespace

OnnxValues zeros(const OnnxApplication& app) { return filled(app, app.scalar(0, app.result().dtype)); }
OnnxValues ones(const OnnxApplication& app) { return filled(app, app.scalar(1, app.result().dtype)); }

OnnxValues full_of_operand(const OnnxApplication& app) {
  return filled(app, app.input(app.inputs.size() - 1, app.result().dtype));
}

OnnxValues full_of_attribute(const OnnxApplication& app) {
  return filled(app, number(app, "fill_value", app.result().dtype));
}

// Without `end` the only number is the end.
OnnxValues arange(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const OnnxValue places = app.cast(counted(app, app.result().sizes[0]), dtype);
  const OnnxValue steps = app.node("Mul", {places, number(app, "step", dtype)});
  return {app.attrs.has("end") ? app.node("Add", {steps, number(app, "start", dtype)}) : steps};
}

OnnxValues linspace(const OnnxApplication& app) {
  const DType dtype = app.result().dtype;
  const Dim& count = app.result().sizes[0];
  const OnnxValue places = app.cast(counted(app, count), dtype);
  const OnnxValue start = number(app, "start", dtype), end = number(app, "end", dtype);
  // Of one element the step is of no account.
  const OnnxValue gaps = app.node("Max", {app.cast(app.size(count - 1), dtype), app.scalar(1, dtype)});
  const OnnxValue step = app.node("Div", {app.node("Sub", {end, start}), gaps});
  return {app.node("Add", {start, app.node("Mul", {places, step})})};
}

OnnxValues eye(const OnnxApplication& app) {
  const OnnxValue rows = app.unsqueeze(counted(app, app.result().sizes[0]), {1});
  const OnnxValue columns = counted(app, app.result().sizes[1]);
  return {app.cast(app.node("Equal", {rows, columns}), app.result().dtype)};
}

OnnxValues triangle(const OnnxApplication& app) {
  const OnnxValue diagonal = app.size(std::get<Dim>(app.attrs.at("diagonal")));
  const std::int64_t is_upper = app.op.name() == "triu" ? 1 : 0;
  if (app.opset() < 14) return {triangle_by_places(app, diagonal, is_upper != 0)};
  return {app.node("Trilu", {app.input(0), diagonal}, {{"upper", is_upper}})};
}

OnnxValues one_hot(const OnnxApplication& app) {
  const OnnxValue classes = app.size(app.result().sizes.back());
  const OnnxValue index = app.unsqueeze(app.input(0, DType::I64), {-1});
  const OnnxValue is_class =
      app.node("Equal", {index, app.node("Range", {app.size(0), classes, app.size(1)})});
  return {app.cast(is_class, app.result().dtype)};
}

}  // namespace kiln::onnx_rules
