// Owns normalization over the last dimensions: layer_norm and rms_norm as kernels with their derivatives'.
#include <limits>

#include "tensor/onnx/rules.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/norms.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
double norm_epsilon(const Attrs& attrs, DType dtype) {
  if (const auto* given = attrs.find<double>("eps")) return *given;
  // The distance from 1 to the next number, of what it is computed in.
  return dtype == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

namespace {

// ---- Shapes ----------------------------------------------------------------------------------------------

std::string op_name(const Attrs& attrs) { return std::string(attrs.op()->name()); }

void check_normalized(const TensorType& x, const Attrs& attrs, int operand) {
  ops::need_float(x, attrs);
  const Dims& shape = attrs.get<Dims>("normalized_shape");
  const auto rank = static_cast<std::ptrdiff_t>(shape.size());
  if (!shape.empty() && shape.size() <= x.sizes.size() &&
      std::equal(shape.begin(), shape.end(), x.sizes.end() - rank) && count_elements(shape) > 0)
    return;
  throw OpError(ErrorKind::Shape,
                op_name(attrs) + ": normalized_shape " + to_string(shape) + " is not how the shape of " +
                    to_string(x) + " ends",
                {operand}, "give the sizes of the last dimensions, at least one, none of them 0");
}

void check_affine(const TensorType& weight, const Dims& shape, const Attrs& attrs, int operand,
                  const char* what) {
  if (weight.is_number || weight.sizes == shape) return;  // a number: absent
  throw OpError(
      ErrorKind::Shape,
      op_name(attrs) + ": the " + what + " is " + to_string(weight) + " and needs shape " + to_string(shape),
      {operand}, std::string("give one ") + what + " per normalized element");
}

// The trailing dimensions of x that are normalized.
Dims normalized_dims(const Tensor& x, const Attrs& attrs) {
  const auto count = static_cast<int>(attrs.get<Dims>("normalized_shape").size());
  Dims dims;
  for (int d = x.rank() - count; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}
Dims leading_dims(const Tensor& x, const Attrs& attrs) {
  const auto count = static_cast<int>(attrs.get<Dims>("normalized_shape").size());
  Dims dims;
  for (int d = 0; d < x.rank() - count; ++d) dims.push_back(d);
  return dims;
}

// ---- Forward ---------------------------------------------------------------------------------------------

std::vector<TensorType> infer_norm(std::span<const TensorType> in, const Attrs& attrs) {
  check_normalized(in[0], attrs, 0);
  const Dims& shape = attrs.get<Dims>("normalized_shape");
  check_affine(in[1], shape, attrs, 1, "weight");
  if (in.size() > 2) check_affine(in[2], shape, attrs, 2, "bias");
  return {{in[0].dtype, in[0].device, in[0].sizes, false}};
}

// x in the dtype of computation, its mean (absent without), and 1 / sqrt(variance + eps).
struct Standard {
  Tensor x, mean, rstd;
  Standard(const Tensor& input, const Attrs& attrs, bool centered)
      : x(ops::to(input, ops::compute_dtype(input.dtype()))) {
    const Dims dims = normalized_dims(x, attrs);
    const Dim count = ops::reduced_count(x.sizes(), dims);
    if (centered) mean = ops::steady_mean(x, dims);
    const Tensor d = apart();
    rstd =
        ops::reciprocal(ops::sqrt(ops::sum(d * d, dims, true) / count + norm_epsilon(attrs, input.dtype())));
  }
  Tensor apart() const { return mean ? x - mean : x; }
  Tensor xhat() const { return apart() * rstd; }
};

template <bool kCentered>
Tensors decompose_norm(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[0].dtype();
  const Standard standard(in[0], attrs, kCentered);
  Tensor y = standard.xhat();
  if (in[1]) y = y * ops::to(ops::to(in[1], dtype), y.dtype());
  if (in.size() > 2 && in[2]) y = y + ops::to(ops::to(in[2], dtype), y.dtype());
  return {ops::to(y, dtype)};
}

// ---- Backward: the gradients of x, weight and bias, the last two only when `affine`
// ------------------------

std::vector<TensorType> infer_norm_backward(std::span<const TensorType> in, const Attrs& attrs) {
  check_normalized(in[1], attrs, 1);
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(ErrorKind::Shape,
                  op_name(attrs) + " needs a gradient of the type of x: " + to_string(in[0]) + " and " +
                      to_string(in[1]),
                  {0, 1}, "give both the same shape and dtype");
  }
  const Dims& shape = attrs.get<Dims>("normalized_shape");
  check_affine(in[2], shape, attrs, 2, "weight");
  const TensorType column{in[1].dtype, in[1].device, attrs.get<bool>("affine") ? shape : Dims{0}, false};
  return {{in[1].dtype, in[1].device, in[1].sizes, false}, column, column};
}

template <bool kCentered>
Tensors decompose_norm_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = in[1].dtype();
  const Standard standard(in[1], attrs, kCentered);
  const Dims dims = normalized_dims(in[1], attrs);
  const Dim count = ops::reduced_count(in[1].sizes(), dims);
  const Tensor g = ops::to(in[0], standard.x.dtype());
  const Tensor h = in[2] ? g * ops::to(ops::to(in[2], dtype), g.dtype()) : g;
  const Tensor xhat = standard.xhat();
  const Tensor mean_hx = ops::sum(h * xhat, dims, true) / count;
  const Tensor rest = kCentered ? h - ops::sum(h, dims, true) / count : h;
  const Tensor dx = ops::to((rest - xhat * mean_hx) * standard.rstd, dtype);
  if (!attrs.get<bool>("affine")) {
    const auto none = [&] { return ops::zeros(Dims{0}, dtype, dx.device()); };
    return {dx, none(), none()};  // each its own, as of the kernel
  }
  const Dims leading = leading_dims(in[1], attrs);
  const auto over_rows = [&](const Tensor& each) {
    return ops::to(leading.empty() ? each : ops::sum(each, leading), dtype);
  };
  return {dx, over_rows(g * xhat), over_rows(g)};
}

Tensors backward_of(const char* name, const VjpArgs& args) {
  const bool affine = args.needs[1] || (args.needs.size() > 2 && args.needs[2]);
  const Tensor inputs[] = {args.grads[0], args.inputs[0], args.inputs[1]};
  Tensors grads = ops::apply(OpTable::get().at(name), inputs,
                             {{"normalized_shape", args.attrs.at("normalized_shape")},
                              {"eps", args.attrs.at("eps")},
                              {"affine", affine}});
  Tensors result{grads[0]};
  for (std::size_t i = 1; i < args.input_types.size(); ++i)
    result.push_back(args.needs[i] ? ops::to(grads[i], args.input_types[i].dtype) : Tensor());
  return result;
}

Tensors layer_norm_vjp(const VjpArgs& args) { return backward_of("layer_norm_backward", args); }
Tensors rms_norm_vjp(const VjpArgs& args) { return backward_of("rms_norm_backward", args); }

// ---- Rows ------------------------------------------------------------------------------------------------

Op kernel_row(std::string_view signature, std::string_view documentation, std::string_view example,
              InferFn infer, BodyFn body) {
  Op row = ops::composite_row(signature, documentation, example, infer, body);
  return row;
}

void add_backward_rows(OpTable& table) {
  Op layer = kernel_row(
      "layer_norm_backward(grad: tensor, x: tensor, weight: tensor? = none, normalized_shape: dims, eps: "
      "float = "
      "1e-5, affine: bool = true)",
      "The gradients of layer_norm to x and, when `affine`, to weight and bias.",
      ">>> layer_norm_backward(ones(2, 2), ones(2, 2), normalized_shape=2)[2].tolist()\n[2.0, 2.0]",
      infer_norm_backward, decompose_norm_backward<true>);
  layer.outputs = 3;
  table.add(std::move(layer));
  Op rms = kernel_row(
      "rms_norm_backward(grad: tensor, x: tensor, weight: tensor? = none, normalized_shape: dims, eps: "
      "float? = "
      "none, affine: bool = true)",
      "The gradients of rms_norm to x and, when `affine`, to weight; the third result is the sum of `grad`.",
      ">>> rms_norm_backward(ones(2, 2), ones(2, 2), normalized_shape=2)[2].tolist()\n[2.0, 2.0]",
      infer_norm_backward, decompose_norm_backward<false>);
  rms.outputs = 3;
  table.add(std::move(rms));
}

}  // namespace

void add_norm_ops(OpTable& table) {
  Op layer = kernel_row(
      "layer_norm(x: tensor, normalized_shape: dims, weight: tensor? = none, bias: tensor? = none, eps: "
      "float = "
      "1e-5)",
      "(x - mean) / sqrt(variance + eps) over the last dimensions, whose sizes are `normalized_shape`, times "
      "weight "
      "plus bias.",
      ">>> layer_norm(tensor([[1.0, 1.0]]), 2).tolist()\n[[0.0, 0.0]]", infer_norm, decompose_norm<true>);
  layer.vjp = layer_norm_vjp;
  layer.onnx = onnx_rules::layer_norm;
  layer.traits = kFullPrecision;
  layer.saves = saves_input(0) | saves_input(1);
  table.add(std::move(layer));
  Op rms =
      kernel_row("rms_norm(x: tensor, normalized_shape: dims, weight: tensor? = none, eps: float? = none)",
                 "x / sqrt(mean of squares + eps) over the last dimensions, whose sizes are "
                 "`normalized_shape`, times weight. "
                 "`eps` is the precision of f64, or of f32, in which halves are computed too, when none.",
                 ">>> rms_norm(tensor([[1.0, -1.0]]), 2, eps=0.0).tolist()\n[[1.0, -1.0]]", infer_norm,
                 decompose_norm<false>);
  rms.vjp = rms_norm_vjp;
  rms.traits = kFullPrecision;
  rms.saves = saves_input(0) | saves_input(1);
  table.add(std::move(rms));
  add_backward_rows(table);
}

}  // namespace kiln
