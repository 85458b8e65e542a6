// Fourier transforms. The operator takes lines within a batch, and divides its inverse by their length.
#include "tensor/ops/fourier.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx_rules {
namespace {

// What the operator's result is still to be multiplied by.
OnnxValue scaled(const OnnxApplication& app, const OnnxValue& value, bool is_inverse) {
  const auto& norm = app.attrs.get<std::string>("norm");
  if (norm == "backward") return value;
  const Dims& sizes = app.result().sizes;
  const OnnxValue n = app.cast(app.size(sizes[sizes.size() - 2]), value.dtype);
  const OnnxValue by = norm == "ortho" ? app.node("Sqrt", {n}) : n;
  return app.node(is_inverse ? "Mul" : "Div", {value, by});
}

}  // namespace

OnnxValues dft(const OnnxApplication& app) {
  const bool is_inverse = app.attrs.get<bool>("inverse"), is_one_line = app.rank(0) == 2;
  const OnnxValue lines = is_one_line ? app.unsqueeze(app.input(0), {0}) : app.input(0);
  const auto axis = static_cast<std::int64_t>(app.rank(0)) - (is_one_line ? 1 : 2);
  const std::int64_t inverse = is_inverse ? 1 : 0;
  const OnnxValue made = app.opset() >= 20
                             ? app.node("DFT", {lines, OnnxValue{}, app.size(axis)}, {{"inverse", inverse}})
                             : app.node("DFT", {lines}, {{"axis", axis}, {"inverse", inverse}});
  return {scaled(app, is_one_line ? app.squeeze(made, {0}) : made, is_inverse)};
}

// That of complex numbers, whose imaginary parts are 0, and of its results the first half.
Tensors rdft(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const Dim n = x.size(x.rank() - 1), count = floor_div(n, 2) + 1;
  const Tensor parts[] = {x, ops::zeros_like(x)};
  const int dim = x.rank() - 1;
  const Tensor half = ops::narrow(
      ops::dft(ops::stack(parts, x.rank()), false, attrs.get<std::string>("norm")), dim, 0, count);
  if (!attrs.get<bool>("doubled")) return {half};
  const Dim between = floor_div(n - 1, 2);
  const Tensor pieces[] = {ops::narrow(half, dim, 0, 1), ops::narrow(half, dim, 1, between) * 2.0,
                           ops::narrow(half, dim, 1 + between, count - 1 - between)};
  return {ops::cat(pieces, dim)};
}

// The real parts of the inverse transform of all frequencies, or of these and zeros.
Tensors irdft(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const int dim = x.rank() - 2;
  const Dim n = attrs.get<Dim>("n"), between = floor_div(n - 1, 2);
  const Tensor others = ops::flip(ops::narrow(x, dim, 1, between), Dims{dim});
  const Tensor conjugates[] = {ops::narrow(others, dim + 1, 0, 1), -ops::narrow(others, dim + 1, 1, 1)};
  const bool is_halved = attrs.get<bool>("halved");
  const Tensor pieces[] = {x, is_halved ? ops::zeros_like(others) : ops::cat(conjugates, dim + 1)};
  return {ops::select(ops::dft(ops::cat(pieces, dim), true, attrs.get<std::string>("norm")), dim + 1, 0)};
}

}  // namespace kiln::onnx_rules
