// Owns softmax and log_softmax, and their derivatives as kernels of one pass over each row.
#include <limits>

#include "tensor/cpu/folds/fold.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rows.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

using cpu::RowProgram;

int dim_of(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

// Runs a program along `dim` of one or two tensors of equal sizes.
Tensor along(RowProgram program, Inputs in, int dim, Dim queries = 1) {
  const DType dtype = in[0].dtype();
  cpu::RowJob job;
  job.queries = queries;
  job.size = in[0].rank() == 0 ? 1 : in[0].size(dim);
  Tensor rows[2];
  for (std::size_t i = 0; i < in.size(); ++i) {
    rows[i] = ops::rows_along(in[i], dim);
    job.in[i] = rows[i].raw();
  }
  const Tensor result = Tensor::empty(rows[0].sizes(), dtype, in[0].device());
  if (result.numel() == 0) return Tensor::empty(in[0].sizes(), dtype, in[0].device());
  job.out = result.raw_writable();
  job.rows = result.numel() / job.size;
  ops::run_rows(program, dtype, job);
  return ops::rows_back(result, dim);
}

std::vector<TensorType> infer_softmax(std::span<const TensorType> in, const Attrs& attrs) {
  dim_of(attrs, static_cast<int>(in[0].sizes.size()));
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
    if (input.rank() > 0) dims.push_back(dim_of(attrs, input.rank()));
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

// ---- Along columns ---------------------------------------------------------------------------------------

// How many lie side by side, of a contiguous tensor. Its stride along a dimension of size 1 may be any.
Dim columns_of(const Tensor& x, int dim) {
  return count_elements(std::span<const Dim>(x.sizes()).subspan(static_cast<std::size_t>(dim) + 1));
}

// Rows that do not lie in memory as such would be copied there and back. Where neighbouring columns do, whole
// passes over the tensor are better: the same operations in the same order.
bool goes_by_columns(const Tensor& x, int dim) {
  constexpr Dim kLeast = 16;
  return x.rank() > 1 && x.is_contiguous() && x.numel() > 0 && columns_of(x, dim) >= kLeast;
}

// Plain ops on plain tensors: nothing is recorded.
Tensor plain(const char* name, std::initializer_list<Tensor> inputs) {
  const Op& op = OpTable::get().at(name);
  return run_eager(op, {inputs.begin(), inputs.size()}, Attrs(op))[0];
}
void plain_inplace(const char* name, std::initializer_list<Tensor> inputs) {
  const Op& op = OpTable::get().at(name);
  run_eager_inplace(op, {inputs.begin(), inputs.size()}, Attrs(op));
}

Tensor by_columns(RowProgram program, const Tensor& x, int dim) {
  const Dims dims{dim}, kept = ops::reduced_sizes(x.sizes(), dims, true);
  const Tensor highest = cpu::fold(x, dims, cpu::Combine::Max);
  const Tensor shifted =
      plain("sub", {ops::cast(x, ops::compute_dtype(x.dtype())), ops::with_sizes(highest, kept)});
  if (program == RowProgram::Softmax) {
    plain_inplace("exp", {shifted});
    const Tensor total = ops::with_sizes(cpu::fold(shifted, dims, cpu::Combine::Sum), kept);
    plain_inplace("mul", {shifted, plain("reciprocal", {total})});
  } else {
    const Tensor total = cpu::fold(x, dims, cpu::Combine::Sum, cpu::Map::CenteredExp, highest);
    plain_inplace("sub", {shifted, ops::with_sizes(plain("log", {total}), kept)});
  }
  return ops::cast(shifted, x.dtype());
}

template <RowProgram kProgram>
Tensors run(const Op&, Inputs in, const Attrs& attrs) {
  const Tensor x = ops::cast(in[0], ops::dtype_or(attrs, in[0].dtype()));
  const int dim = dim_of(attrs, x.rank());
  if (!goes_by_columns(x, dim)) return {along(kProgram, {&x, 1}, dim)};
  const std::int64_t count = x.size(dim), columns = columns_of(x, dim);
  if (count > kReductionBlock) return {by_columns(kProgram, x, dim)};
  return {ops::run_softmax_columns(x, count, columns, kProgram == RowProgram::LogSoftmax)};
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
  return {dim_of(attrs, x.rank())};
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
  dim_of(attrs, static_cast<int>(in[0].sizes.size()));
  return {in[0]};
}

template <RowProgram kProgram>
Tensors run_backward(const Op&, Inputs in, const Attrs& attrs) {
  return {along(kProgram, in, dim_of(attrs, in[0].rank()))};
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
Tensors run_causal(const Op&, Inputs in, const Attrs&) {
  const int last = in[0].rank() - 1;
  return {along(RowProgram::CausalSoftmax, in, last, in[0].size(last - 1))};
}
Tensors decompose_causal(const Op&, Inputs in, const Attrs&) {
  const int last = in[0].rank() - 1;
  const Dims sizes{in[0].size(last - 1), in[0].size(last)};
  const Tensor hidden = ops::logical_not(ops::tril(ops::ones(sizes, DType::Bool)));
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
                BodyFn eager, BodyFn body) {
  return {
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_backward,
      .eager = eager,
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
      .eager = run<RowProgram::Softmax>,
      .decompose = decompose_softmax,
      .vjp = softmax_vjp,
      .jvp = softmax_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
      .onnx = "Softmax",
  });
  table.add({
      .signature = Signature::parse("log_softmax(x: tensor, dim: index, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation =
          "The logarithm of `softmax` along `dim`, computed without taking one of a small number.",
      .example = ">>> log_softmax(tensor([5.0]), dim=0).tolist()\n[0.0]",
      .infer = infer_softmax,
      .eager = run<RowProgram::LogSoftmax>,
      .decompose = decompose_log_softmax,
      .vjp = log_softmax_vjp,
      .jvp = log_softmax_jvp,
      .batch = ops::batch_index,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
      .onnx = "LogSoftmax",
  });
  table.add({
      .signature = Signature::parse("causal_softmax(x: tensor)"),
      .family = "reduce",
      .documentation =
          "`softmax` along the last dimension of [..., queries, keys] where query i sees keys 0 to i: "
          "what it does not see counts as -inf.",
      .example = ">>> causal_softmax(zeros(2, 2)).tolist()\n[[1.0, 0.0], [0.5, 0.5]]",
      .infer = infer_causal,
      .eager = run_causal,
      .decompose = decompose_causal,
      .vjp = causal_vjp,
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = causal_batch,
      .saves = saves_output(0),
      .lowering = Lowering::Composite,
  });
  table.add(backward_row("softmax_backward(grad: tensor, y: tensor, dim: index)",
                         "The gradient of softmax from its result y: (grad - sum(grad * y, dim)) * y.",
                         ">>> softmax_backward(ones(2), tensor([0.5, 0.5]), dim=0).tolist()\n[0.0, 0.0]",
                         run_backward<RowProgram::SoftmaxBackward>, decompose_softmax_backward));
  table.add(backward_row("log_softmax_backward(grad: tensor, y: tensor, dim: index)",
                         "The gradient of log_softmax from its result y: grad - exp(y) * sum(grad, dim).",
                         ">>> log_softmax_backward(ones(1), zeros(1), dim=0).tolist()\n[0.0]",
                         run_backward<RowProgram::LogSoftmaxBackward>, decompose_log_softmax_backward));
}

}  // namespace kiln
