// Owns pooling by maxima: the values of windows together with their places, and the way back of a gradient.
#include "tensor/onnx/rules.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/pooling.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

// ---- Values and indices ----------------------------------------------------------------------------------

std::vector<TensorType> infer_max(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_order(in[0], attrs);
  const Dims planes = ops::plane_sizes(in[0], attrs);
  const TensorType values = ops::with_planes(in[0], ops::count_windows(planes, attrs));
  return {values, rules::with_dtype(values, DType::I64)};
}

// ---- Moving a gradient to the places, and back -----------------------------------------------------------

// [planes, places of a plane]
Tensor flat_planes(const Tensor& x) {
  const Dim places = x.size(x.rank() - 2) * x.size(x.rank() - 1);
  Dim planes = 1;
  for (int d = 0; d < x.rank() - 2; ++d) planes *= x.size(d);
  return ops::reshape(x, Dims{planes, places});
}

// The elements of x at the indices of its planes.
Tensor take(const Tensor& x, const Tensor& indices) {
  return ops::reshape(ops::gather(flat_planes(x), 1, flat_planes(indices)), indices.sizes());
}

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  const Dims& sizes = attrs.get<Dims>("sizes");
  if (in[0].sizes != in[1].sizes || in[0].sizes.size() < 3 || sizes.size() != 2) {
    throw OpError(ErrorKind::Shape,
                  "max_pool2d_backward needs an index for each element of the gradient, and a height and a "
                  "width: " +
                      to_string(in[0]) + ", " + to_string(in[1]) + " and " + to_string(sizes),
                  {0, 1});
  }
  rules::check_index_dtype(in[1], "max_pool2d_backward", 1);
  return {ops::with_planes(in[0], sizes)};
}

Tensors backward_vjp(const VjpArgs& args) { return {take(args.grads[0], args.inputs[1]), Tensor()}; }
Tensors backward_jvp(const JvpArgs& args) {
  if (!args.tangents[0]) return {Tensor()};
  const Tensor inputs[] = {args.tangents[0], args.inputs[1]};
  return kiln::bind(args.op, inputs, args.attrs);
}

Tensors max_pool_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("max_pool2d_backward");
  const Dims& sizes = args.input_types[0].sizes;
  return {rules::apply_one(row, {args.grads[0], args.outputs[1]}, {Dims(sizes.end() - 2, sizes.end())})};
}
Tensors max_pool_jvp(const JvpArgs& args) { return {take(args.tangents[0], args.outputs[1]), Tensor()}; }

// ---- The forms users call: indices only when asked for ---------------------------------------------------

template <InferFn kInfer>
std::vector<TensorType> infer_form(std::span<const TensorType> in, const Attrs& attrs) {
  std::vector<TensorType> types = kInfer(in, attrs);
  if (!attrs.get<bool>("return_indices")) types.pop_back();
  return types;
}

// Applies the primitive `kName` with the attributes it shares with the form.
Tensors with_indices(std::string_view name, const Tensor& x, const Attrs& attrs) {
  const Op& row = OpTable::get().at(name);
  Attrs own(row);
  std::copy_n(attrs.values().begin(), own.values().size(), own.values().begin());
  Tensors results = kiln::bind(row, {&x, 1}, own);
  if (!attrs.get<bool>("return_indices")) results.pop_back();
  return results;
}

Tensors max_pool2d(const Op&, Inputs in, const Attrs& attrs) {
  return with_indices("max_pool2d_with_indices", in[0], attrs);
}
Tensors adaptive_max_pool2d(const Op&, Inputs in, const Attrs& attrs) {
  return with_indices("adaptive_max_pool2d_with_indices", in[0], attrs);
}

std::vector<TensorType> infer_max_pool1d(std::span<const TensorType> in, const Attrs& attrs) {
  const TensorType x = ops::as_planes(in[0], attrs);
  std::vector<TensorType> types = infer_max({&x, 1}, ops::of_planes(attrs));
  if (!attrs.get<bool>("return_indices")) types.pop_back();
  for (TensorType& type : types) type = ops::from_planes(type);
  return types;
}
Tensors max_pool1d(const Op&, Inputs in, const Attrs& attrs) {
  Tensors results = with_indices("max_pool2d_with_indices", ops::as_planes(in[0]), ops::of_planes(attrs));
  for (Tensor& each : results) each = ops::from_planes(each);
  return results;
}

// ---- Rows ------------------------------------------------------------------------------------------------

Op primitive(std::string_view signature, std::string_view documentation, std::string_view example,
             InferFn infer) {
  return {.signature = Signature::parse(signature),
          .family = "nn",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .vjp = max_pool_vjp,
          .jvp = max_pool_jvp,
          .batch = ops::batch_images,
          .saves = saves_output(1),
          .lowering = Lowering::Library,
          .outputs = 2,
          .onnx = onnx_rules::max_pool};
}

void add_primitives(OpTable& table) {
  table.add(primitive(
      "max_pool2d_with_indices(x: tensor, kernel_size: dims, stride: dims? = none, padding: dims = 0, "
      "dilation: dims = 1, ceil_mode: bool = false)",
      "`max_pool2d` together with the place of each maximum in its plane.",
      ">>> max_pool2d_with_indices(tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)[1].tolist()\n[[[1]]]", infer_max));
  table.add(primitive("adaptive_max_pool2d_with_indices(x: tensor, output_size: dims[none])",
                      "`adaptive_max_pool2d` together with the place of each maximum in its plane.",
                      ">>> adaptive_max_pool2d_with_indices(tensor([[[1.0, 3.0], [2.0, 0.0]]]), "
                      "1)[1].tolist()\n[[[1]]]",
                      infer_max));
  Op back = primitive("max_pool2d_backward(grad: tensor, indices: tensor, sizes: dims)",
                      "Planes of the given sizes that hold at each index the sum of the gradients with it.",
                      ">>> max_pool2d_backward(ones(1, 1, 2), tensor([[[3, 3]]]), sizes=[2, "
                      "2]).tolist()\n[[[0.0, 0.0], [0.0, 2.0]]]",
                      infer_backward);
  back.vjp = backward_vjp;
  back.jvp = backward_jvp;
  back.saves = saves_input(1);
  back.outputs = 1;
  back.onnx = onnx_rules::max_pool_backward;
  back.effects = kMayFail;
  table.add(std::move(back));
}

Op form(std::string_view signature, std::string_view documentation, std::string_view example, InferFn infer,
        BodyFn body) {
  Op row = ops::composite_row(signature, documentation, example, infer, body);
  row.outputs = kOneAtLeast;
  return row;
}

}  // namespace

void add_max_pool_ops(OpTable& table) {
  add_primitives(table);
  table.add(form(
      "max_pool2d(x: tensor, kernel_size: dims, stride: dims? = none, padding: dims = 0, dilation: dims = 1, "
      "ceil_mode: bool = false, return_indices: bool = false)",
      "The largest element of each window of the planes of x [n, channels, height, width] (or without n); "
      "nan "
      "wins. `stride` is the kernel's size when none, padding counts as -inf, `ceil_mode` keeps a last "
      "window "
      "that reaches beyond the end. With `return_indices` also their places in the planes.",
      ">>> max_pool2d(tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2).tolist()\n[[[3.0]]]", infer_form<infer_max>,
      max_pool2d));
  table.add(
      form("max_pool1d(x: tensor, kernel_size: dims, stride: dims? = none, padding: dims = 0, dilation: "
           "dims = 1, ceil_mode: bool = false, return_indices: bool = false)",
           "`max_pool2d` of lines: x is [n, channels, length] or [channels, length].",
           ">>> max_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()\n[[3.0, 2.0]]", infer_max_pool1d,
           max_pool1d));
  table.add(form("adaptive_max_pool2d(x: tensor, output_size: dims[none], return_indices: bool = false)",
                 "`max_pool2d` with the windows that make planes of `output_size`; none keeps a size.",
                 ">>> adaptive_max_pool2d(arange(9.0).reshape(1, 3, 3), (1, none)).tolist()\n[[[6.0, 7.0, "
                 "8.0]]]",
                 infer_form<infer_max>, adaptive_max_pool2d));
}

}  // namespace kiln
