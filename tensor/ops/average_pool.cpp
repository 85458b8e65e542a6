// Owns pooling by averages: each op and its adjoint, which are each other's derivatives.
#include "tensor/onnx/rules.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/pooling.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
std::int64_t ops::average_divisor(const Attrs& attrs) {
  if (!ops::has_attribute(attrs, "divisor_override") || !attrs.has("divisor_override")) return 0;
  const auto divisor = attrs.get<std::int64_t>("divisor_override");
  if (divisor == 0) throw OpError(ErrorKind::Value, "avg_pool2d: divisor_override must not be 0");
  return divisor;
}

namespace {

// ---- Forward ---------------------------------------------------------------------------------------------

std::vector<TensorType> infer_average(std::span<const TensorType> in, const Attrs& attrs) {
  const bool adaptive = ops::is_adaptive(attrs);
  if (adaptive || in[0].dtype != DType::I64) ops::need_float(in[0], attrs);
  ops::average_divisor(attrs);
  const Dims planes = ops::plane_sizes(in[0], attrs);
  return {ops::with_planes(in[0], ops::count_windows(planes, attrs))};
}

// ---- Backward --------------------------------------------------------------------------------------------

std::vector<TensorType> infer_spread(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  ops::average_divisor(attrs);
  const Dims& planes = attrs.get<Dims>("sizes");
  const bool ranked = in[0].sizes.size() >= 3 && planes.size() == 2;
  if (!ranked || ops::with_planes(in[0], ops::count_windows(planes, attrs)) != in[0]) {
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": pooling planes of " + to_string(planes) +
                      " does not give " + to_string(in[0]),
                  {0});
  }
  return {ops::with_planes(in[0], planes)};
}

// A pool and its backward have the same attributes but for `sizes`, which backward has first.
Tensors pool_vjp(const VjpArgs& args) {
  const Op& row = OpTable::get().at(std::string(args.op.name()) + "_backward");
  const Dims& sizes = args.input_types[0].sizes;
  Attrs attrs(row);
  attrs.values()[0] = Dims(sizes.end() - 2, sizes.end());
  std::copy(args.attrs.values().begin(), args.attrs.values().end(), attrs.values().begin() + 1);
  return kiln::bind(row, {&args.grads[0], 1}, attrs);
}
Tensors backward_vjp(const VjpArgs& args) {
  const std::string_view name = args.op.name();
  const Op& row = OpTable::get().at(name.substr(0, name.rfind('_')));
  Attrs attrs(row);
  std::copy(args.attrs.values().begin() + 1, args.attrs.values().end(), attrs.values().begin());
  return kiln::bind(row, {&args.grads[0], 1}, attrs);
}

// ---- Lines -----------------------------------------------------------------------------------------------

std::vector<TensorType> infer_line(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType x = ops::as_planes(in[0], attrs);
  return {ops::from_planes(infer_average({&x, 1}, ops::of_planes(attrs))[0])};
}
Tensors average_line(const Op&, Inputs in, const Attrs& attrs) {
  const Op& row = OpTable::get().at(ops::is_adaptive(attrs) ? "adaptive_avg_pool2d" : "avg_pool2d");
  const Attrs lines = ops::of_planes(attrs);
  Attrs planes(row);
  std::copy(lines.values().begin(), lines.values().end(), planes.values().begin());
  const Tensor x = ops::as_planes(in[0]);
  return {ops::from_planes(kiln::bind(row, {&x, 1}, planes)[0])};
}

// ---- Rows ------------------------------------------------------------------------------------------------

Op linear_row(std::string_view signature, std::string_view documentation, std::string_view example,
              InferFn infer, VjpFn vjp, OnnxRule onnx = {}) {
  return {.signature = Signature::parse(signature),
          .family = "nn",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .vjp = vjp,
          .jvp = rules::jvp_linear,
          .batch = ops::batch_images,
          .lowering = Lowering::Library,
          .onnx = onnx,
          .complex = ComplexRule::PartByPart};
}
Op of_lines(std::string_view signature, std::string_view documentation, std::string_view example) {
  Op row = ops::composite_row(signature, documentation, example, infer_line, average_line);
  row.complex = ComplexRule::PartByPart;
  return row;
}

void add_lines(OpTable& table) {
  table.add(of_lines(
      "avg_pool1d(x: tensor, kernel_size: dims, stride: dims? = none, padding: dims = 0, ceil_mode: bool = "
      "false, count_include_pad: bool = true)",
      "`avg_pool2d` of lines: x is [n, channels, length] or [channels, length].",
      ">>> avg_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()\n[[2.0, 1.0]]"));
  table.add(of_lines("adaptive_avg_pool1d(x: tensor, output_size: dims)",
                     "`adaptive_avg_pool2d` of lines: x is [n, channels, length] or [channels, "
                     "length].",
                     ">>> adaptive_avg_pool1d(tensor([[1.0, 3.0, 2.0]]), 1).tolist()\n[[2.0]]"));
}

}  // namespace

void add_average_pool_ops(OpTable& table) {
  table.add(linear_row(
      "avg_pool2d(x: tensor, kernel_size: dims, stride: dims? = none, padding: dims = 0, ceil_mode: bool = "
      "false, count_include_pad: bool = true, divisor_override: int? = none)",
      "The mean of each window of the planes of x [n, channels, height, width] (or without n). `stride` is "
      "the "
      "kernel's size when none; the zeros of the padding count unless `count_include_pad` is false; "
      "`divisor_override` divides instead of the count; `ceil_mode` keeps a last window that reaches beyond "
      "the end.",
      ">>> avg_pool2d(tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2).tolist()\n[[[1.5]]]", infer_average, pool_vjp,
      onnx_rules::average_pool));
  table.add(linear_row(
      "avg_pool2d_backward(grad: tensor, sizes: dims, kernel_size: dims, stride: dims? = none, padding: dims "
      "= 0, ceil_mode: bool = false, count_include_pad: bool = true, divisor_override: int? = none)",
      "The gradient of avg_pool2d for planes of the given sizes.",
      ">>> avg_pool2d_backward(ones(1, 1, 1), [2, 2], 2).tolist()\n[[[0.25, 0.25], [0.25, 0.25]]]",
      infer_spread, backward_vjp, onnx_rules::average_pool_backward));
  table.add(linear_row(
      "adaptive_avg_pool2d(x: tensor, output_size: dims[none])",
      "`avg_pool2d` with the windows that make planes of `output_size`, one int or one for each of height "
      "and "
      "width; none keeps a size.",
      ">>> adaptive_avg_pool2d(arange(9.0).reshape(1, 3, 3), (1, none)).tolist()\n[[[3.0, 4.0, 5.0]]]",
      infer_average, pool_vjp, onnx_rules::adaptive_average_pool));
  table.add(linear_row("adaptive_avg_pool2d_backward(grad: tensor, sizes: dims, output_size: dims[none])",
                       "The gradient of adaptive_avg_pool2d for planes of the given sizes.",
                       ">>> adaptive_avg_pool2d_backward(ones(1, 1, 1), [2, 2], 1).tolist()\n[[[0.25, 0.25], "
                       "[0.25, 0.25]]]",
                       infer_spread, backward_vjp, onnx_rules::adaptive_average_pool_backward));
  add_lines(table);
}

}  // namespace kiln
