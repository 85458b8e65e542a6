// Owns softmax and log_softmax, and their derivatives as kernels of one pass over each row.
#include <limits>

#include "tensor/onnx/rules.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

int softmax_dim(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

std::vector<TensorType> infer_softmax(std::span<const TensorType> in, const Attrs& attrs) {
  softmax_dim(attrs, static_cast<int>(in[0].sizes.size()));
  TensorType type = in[0];
  type.dtype = ops::dtype_or(attrs, type.dtype);
  type.is_number = false;
  ops::need_float(type, attrs);
  return {type};
}

struct Shifted {
  Dims dims;
  DType dtype;
  Tensor x;  // minus its maximum, in the dtype of computation

  Shifted(const Tensor& input, const Attrs& attrs) : dtype(ops::dtype_or(attrs, input.dtype())) {
    if (input.rank() > 0) dims.push_back(softmax_dim(attrs, input.rank()));
    const Tensor wide = ops::to(ops::to(input, dtype), ops::compute_dtype(dtype));
    x = wide.numel() == 0 ? wide : wide - ops::amax(wide, dims, true);
  }
};

Tensors decompose_softmax(const Op&, Inputs in, const Attrs& attrs) {
  const Shifted shifted(in[0], attrs);
  const Tensor e = ops::exp(shifted.x);
  return {ops::to(e * ops::reciprocal(ops::sum(e, shifted.dims, true)), shifted.dtype)};
}

Tensors decompose_log_softmax(const Op&, Inputs in, const Attrs& attrs) {
  const Shifted shifted(in[0], attrs);
  const Tensor total = ops::sum(ops::exp(shifted.x), shifted.dims, true);
  return {ops::to(shifted.x - ops::log(total), shifted.dtype)};
}

Tensors backward_of(const char* name, const VjpArgs& args) {
  const Tensor inputs[] = {args.grads[0], args.outputs[0]};
  const Attr& dim = args.attrs.at("dim");
  const Tensor grad = ops::apply(OpTable::get().at(name), inputs, {{"dim", dim}})[0];
  return {ops::to(grad, args.input_types[0].dtype)};
}

Tensors softmax_vjp(const VjpArgs& args) { return backward_of("softmax_backward", args); }
Tensors log_softmax_vjp(const VjpArgs& args) { return backward_of("log_softmax_backward", args); }

Dims dims_of(const Tensor& x, const Attrs& attrs) {
  if (x.rank() == 0) return {};
  return {softmax_dim(attrs, x.rank())};
}

Tensors softmax_jvp(const JvpArgs& args) {
  const Tensor& y = args.outputs[0];
  const Tensor tangent = ops::to(args.tangents[0], y.dtype());
  return {y * (tangent - ops::sum(y * tangent, dims_of(y, args.attrs), true))};
}

Tensors log_softmax_jvp(const JvpArgs& args) {
  const Tensor& y = args.outputs[0];
  const Tensor tangent = ops::to(args.tangents[0], y.dtype());
  return {tangent - ops::sum(ops::exp(y) * tangent, dims_of(y, args.attrs), true)};
}

// ---- The derivatives' kernels ----------------------------------------------------------------------------

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  const std::string name(attrs.op()->name());
  if (in[0].sizes != in[1].sizes || in[0].dtype != in[1].dtype) {
    throw OpError(
        ErrorKind::Shape,
        name + " needs a gradient of the result's type: " + to_string(in[0]) + " and " + to_string(in[1]),
        {0, 1}, "give both the same shape and dtype");
  }
  ops::need_float(in[0], attrs);
  softmax_dim(attrs, static_cast<int>(in[0].sizes.size()));
  return {in[0]};
}

Tensors decompose_softmax_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType wide = ops::compute_dtype(in[0].dtype());
  const Tensor g = ops::to(in[0], wide);
  const Tensor y = ops::to(in[1], wide);
  return {ops::to((g - ops::sum(g * y, dims_of(y, attrs), true)) * y, in[0].dtype())};
}

Tensors decompose_log_softmax_backward(const Op&, Inputs in, const Attrs& attrs) {
  const DType wide = ops::compute_dtype(in[0].dtype());
  const Tensor g = ops::to(in[0], wide);
  const Tensor y = ops::to(in[1], wide);
  return {ops::to(g - ops::exp(y) * ops::sum(g, dims_of(y, attrs), true), in[0].dtype())};
}

// ---- The softmax of attention whose queries look back only -----------------------------------------------

std::vector<TensorType> infer_causal(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  if (in[0].sizes.size() >= 2) return {in[0]};
  throw OpError(ErrorKind::Shape, "causal_softmax: " + to_string(in[0]) + " has no queries and keys", {0},
                "give [..., queries, keys]");
}
Tensors decompose_causal(const Op&, Inputs in, const Attrs&) {
  const int last = in[0].rank() - 1;
  const Dims sizes{in[0].size(last - 1), in[0].size(last)};
  const Tensor hidden = ops::logical_not(ops::tril(ops::ones(sizes, DType::Bool, in[0].device())));
  const Tensor lowest = Tensor::number(-std::numeric_limits<double>::infinity());
  return {ops::softmax(ops::masked_fill(in[0], hidden, lowest), last)};
}
Tensors causal_vjp(const VjpArgs& args) {
  const Tensor inputs[] = {args.grads[0], args.outputs[0]};
  const std::int64_t last = args.outputs[0].rank() - 1;
  return {ops::apply(OpTable::get().at("softmax_backward"), inputs, {{"dim", last}})[0]};
}
Tensors causal_batch(const BatchArgs& args) {
  const Tensor x = rules::with_batch(args, 0);
  return kiln::bind(args.op, {&x, 1}, args.attrs);
}

Op backward_row(std::string_view signature, std::string_view documentation, std::string_view example,
                BodyFn body) {
  return {
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_backward,
      .decompose = body,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
  };
}

}  // namespace

void add_softmax_ops(OpTable& table) {
  table.add({
      .signature = Signature::parse("softmax(x: tensor, dim: index, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation = "exp(x) along `dim`, scaled to sum to 1; without overflow.",
      .example = ">>> softmax(tensor([0.0, 0.0]), dim=0).tolist()\n[0.5, 0.5]",
      .infer = infer_softmax,
      .decompose = decompose_softmax,
      .vjp = softmax_vjp,
      .jvp = softmax_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
      .onnx = onnx_rules::softmax,
  });
  table.add({
      .signature = Signature::parse("log_softmax(x: tensor, dim: index, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation =
          "The logarithm of `softmax` along `dim`, computed without taking one of a small number.",
      .example = ">>> log_softmax(tensor([5.0]), dim=0).tolist()\n[0.0]",
      .infer = infer_softmax,
      .decompose = decompose_log_softmax,
      .vjp = log_softmax_vjp,
      .jvp = log_softmax_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
      .onnx = onnx_rules::softmax,
  });
  table.add({
      .signature = Signature::parse("causal_softmax(x: tensor)"),
      .family = "reduce",
      .documentation =
          "`softmax` along the last dimension of [..., queries, keys] where query i sees keys 0 to i: "
          "what it does not see counts as -inf.",
      .example = ">>> causal_softmax(zeros(2, 2)).tolist()\n[[1.0, 0.0], [0.5, 0.5]]",
      .infer = infer_causal,
      .decompose = decompose_causal,
      .vjp = causal_vjp,
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = causal_batch,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
  });
  table.add(backward_row("softmax_backward(grad: tensor, y: tensor, dim: index)",
                         "The gradient of softmax from its result y: (grad - sum(grad * y, dim)) * y.",
                         ">>> softmax_backward(ones(2), tensor([0.5, 0.5]), dim=0).tolist()\n[0.0, 0.0]",
                         decompose_softmax_backward));
  table.add(backward_row("log_softmax_backward(grad: tensor, y: tensor, dim: index)",
                         "The gradient of log_softmax from its result y: grad - exp(y) * sum(grad, dim).",
                         ">>> log_softmax_backward(ones(1), zeros(1), dim=0).tolist()\n[0.0]",
                         decompose_log_softmax_backward));
}

}  // namespace kiln
