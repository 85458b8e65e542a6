// Owns the plain reductions: one combination of all elements along some dimensions, in the fixed order.
#include "tensor/ops/reduce.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"

#include "tensor/compute.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

using cpu::Combine;
using ops::keeps_dims;
using ops::reduced_dims;
using ops::reduced_sizes;

TensorType reduced_type(const TensorType& x, const Attrs& attrs, DType dtype) {
  const Dims dims = reduced_dims(attrs, static_cast<int>(x.sizes.size()));
  return {dtype, x.device, reduced_sizes(x.sizes, dims, keeps_dims(attrs)), false};
}

// Gradient of a reduced tensor spread over the input's elements, still to be multiplied by the derivative.
Tensor spread(const VjpArgs& args, const Tensor& reduced) {
  const Dims& sizes = args.input_types[0].sizes;
  const Dims dims = reduced_dims(args.attrs, static_cast<int>(sizes.size()));
  return ops::restore_dims(reduced, sizes, dims);
}

// ---- sum, prod, mean -------------------------------------------------------------------------------------

Tensor converted(const Tensor& x, DType result) { return ops::to(x, combined_dtype(x.dtype(), result)); }

std::vector<TensorType> infer_mean(std::span<const TensorType> in, const Attrs& attrs) {
  const DType dtype = ops::dtype_or(attrs, in[0].dtype);
  ops::need_float({dtype, in[0].device, in[0].sizes}, attrs);
  return {reduced_type(in[0], attrs, dtype)};
}

Tensors decompose_mean(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = ops::dtype_or(attrs, in[0].dtype());
  const Dims dims = reduced_dims(attrs, in[0].rank());
  const Tensor x = ops::to(converted(in[0], dtype), ops::compute_dtype(dtype));
  const Dim count = ops::reduced_count(x.sizes(), dims);
  return {ops::to(ops::sum(x, dims, keeps_dims(attrs)) / count, dtype)};
}

Tensors sum_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  return {ops::to(ops::expand(spread(args, args.grads[0]), x.sizes), x.dtype)};
}

Tensors mean_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  const Dims dims = reduced_dims(args.attrs, static_cast<int>(x.sizes.size()));
  const Dim count = ops::reduced_count(x.sizes, dims);
  return {ops::to(ops::expand(spread(args, args.grads[0] / count), x.sizes), x.dtype)};
}

// The product of all elements but one, for each one; exact where there are zeros. Reduced dimensions as one
// row.
Tensor product_of_others(const Tensor& rows) {
  const Dim n = rows.size(1);
  const Tensor one = ops::ones(Dims{rows.size(0), 1}, rows.dtype(), rows.device());
  const auto before = [&](const Tensor& x) {
    const Tensor shifted[] = {one, ops::narrow(x, 1, 0, n - 1)};
    return ops::cumprod(ops::cat(shifted, 1), 1);
  };
  const Dims last{1};
  return before(rows) * ops::flip(before(ops::flip(rows, last)), last);
}

// [kept..., reduced...] as rows, and the order of dimensions that leads there.
Dims kept_then_reduced(int rank, const Dims& dims) {
  Dims order;
  for (Dim d = 0; d < rank; ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  order.append(dims.begin(), dims.end());
  return order;
}

// d prod(x) / dx, with the sizes of x.
Tensor prod_derivative(const Tensor& x, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, x.rank());
  const Dim count = ops::reduced_count(x.sizes(), dims);
  if (x.numel() == 0 || count == 1) return ops::ones_like(x);
  const Dims order = kept_then_reduced(x.rank(), dims);
  Dims back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<Dim>(i);
  const Tensor moved = ops::permute(x, order);
  const Tensor others = product_of_others(ops::reshape(moved, Dims{x.numel() / count, count}));
  return ops::permute(ops::reshape(others, moved.sizes()), back);
}

Tensors prod_vjp(const VjpArgs& args) {
  const Tensor x = ops::to(args.inputs[0], args.grads[0].dtype());
  return {ops::to(spread(args, args.grads[0]) * prod_derivative(x, args.attrs), args.inputs[0].dtype())};
}

Tensors prod_jvp(const JvpArgs& args) {
  const DType dtype = args.outputs[0].dtype();
  const Tensor x = ops::to(args.inputs[0], dtype);
  const Dims dims = reduced_dims(args.attrs, x.rank());
  const Tensor change = ops::to(args.tangents[0], dtype) * prod_derivative(x, args.attrs);
  return {ops::sum(change, dims, keeps_dims(args.attrs))};
}

// ---- amax, amin ------------------------------------------------------------------------------------------

std::vector<TensorType> infer_extremum(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_elements(in[0], reduced_dims(attrs, static_cast<int>(in[0].sizes.size())), attrs);
  return {reduced_type(in[0], attrs, in[0].dtype)};
}

// Where the extremum is reached, divided by how often: the gradient is shared evenly among ties.
Tensor shares(const Tensor& x, const Tensor& y, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, x.rank());
  const Tensor reached = ops::to(ops::eq(x, ops::restore_dims(y, x.sizes(), dims)), x.dtype());
  return reached / ops::sum(reached, dims, true);
}

Tensors extremum_vjp(const VjpArgs& args) {
  return {spread(args, args.grads[0]) * shares(args.inputs[0], args.outputs[0], args.attrs)};
}

Tensors extremum_jvp(const JvpArgs& args) {
  const Dims dims = reduced_dims(args.attrs, args.inputs[0].rank());
  const Tensor weights = shares(args.inputs[0], args.outputs[0], args.attrs);
  return {ops::sum(args.tangents[0] * weights, dims, keeps_dims(args.attrs))};
}

// ---- any, all, count_nonzero -----------------------------------------------------------------------------

// PyTorch answers in u8 for u8.
DType truth_dtype(DType x) { return x == DType::U8 ? DType::U8 : DType::Bool; }

std::vector<TensorType> infer_truth(std::span<const TensorType> in, const Attrs& attrs) {
  return {reduced_type(in[0], attrs, truth_dtype(in[0].dtype))};
}

// How many elements are not zero, or are, decides.
Tensors decompose_any(const Op&, Inputs in, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, in[0].rank());
  const Tensor zero = Tensor::number(std::int64_t{0});
  const Tensor found = ops::sum(ops::ne(in[0], zero), dims, keeps_dims(attrs));
  return {ops::to(ops::gt(found, zero), truth_dtype(in[0].dtype()))};
}
Tensors decompose_all(const Op&, Inputs in, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, in[0].rank());
  const Tensor zero = Tensor::number(std::int64_t{0});
  const Tensor missing = ops::sum(ops::eq(in[0], zero), dims, keeps_dims(attrs));
  return {ops::to(ops::eq(missing, zero), truth_dtype(in[0].dtype()))};
}

std::vector<TensorType> infer_count(std::span<const TensorType> in, const Attrs& attrs) {
  return {reduced_type(in[0], attrs, DType::I64)};
}

Tensors decompose_count(const Op&, Inputs in, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, in[0].rank());
  return {ops::sum(ops::ne(in[0], Tensor::number(std::int64_t{0})), dims, keeps_dims(attrs))};
}

const std::string_view kTruth = "its result is true or false";

void add_truth_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("any(x: tensor, dim: dims? = none, keepdim: bool = false)"),
       .family = "reduce",
       .documentation =
           "Whether any element along `dim` (all of them when none) is not zero. A bool; 0 or 1 for u8.",
       .example = ">>> any(tensor([0, 3, 0])).item()\ntrue",
       .infer = infer_truth,
       .decompose = decompose_any,
       .vjp = Rule<VjpFn>::none(kTruth),
       .jvp = Rule<JvpFn>::none(kTruth),
       .batch = ops::batch_reduced_dims,
       .lowering = Lowering::Reduce,
       .complex = complex_rules::of_truth});
  table.add({.signature = Signature::parse("all(x: tensor, dim: dims? = none, keepdim: bool = false)"),
             .family = "reduce",
             .documentation =
                 "Whether every element along `dim` (all of them when none) is not zero; true of no "
                 "elements. A bool; 0 or 1 for u8.",
             .example = ">>> all(tensor([[1, 2], [0, 4]]), dim=1).tolist()\n[true, false]",
             .infer = infer_truth,
             .decompose = decompose_all,
             .vjp = Rule<VjpFn>::none(kTruth),
             .jvp = Rule<JvpFn>::none(kTruth),
             .batch = ops::batch_reduced_dims,
             .lowering = Lowering::Reduce,
             .complex = complex_rules::of_truth});
  table.add(
      {.signature = Signature::parse("count_nonzero(x: tensor, dim: dims? = none, keepdim: bool = false)"),
       .family = "reduce",
       .documentation =
           "The number of elements along `dim` (all of them when none) that are not zero, as i64.",
       .example = ">>> count_nonzero(tensor([0, 3, 0, -1])).item()\n2",
       .infer = infer_count,
       .decompose = decompose_count,
       .vjp = Rule<VjpFn>::none("its result is a count"),
       .jvp = Rule<JvpFn>::none("its result is a count"),
       .batch = ops::batch_reduced_dims,
       .lowering = Lowering::Reduce,
       .complex = complex_rules::of_truth});
}

void add_total_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse(
           "sum(x: tensor, dim: dims? = none, keepdim: bool = false, *, dtype: dtype? = none)"),
       .family = "reduce",
       .documentation =
           "The sum along `dim` (of all elements when none). Bools and integers add up as i64, halves in "
           "f32. The order of additions is fixed: the same bits on any layout and number of threads.",
       .example = ">>> sum(tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0).tolist()\n[4.0, 6.0]",
       .infer = infer_total,
       .vjp = sum_vjp,
       .jvp = ops::linear_jvp,
       .batch = ops::batch_reduced_dims,
       .lowering = lowering::Reduce{Combine::Sum},
       .traits = kFullPrecision,
       .onnx = onnx_rules::sum,
       .complex = ComplexRule::PartByPart});
  table.add({
      .signature = Signature::parse(
          "mean(x: tensor, dim: dims? = none, keepdim: bool = false, *, dtype: dtype? = none)"),
      .family = "reduce",
      .documentation = "The mean along `dim` (of all elements when none) of float elements.",
      .example = ">>> mean(tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1).tolist()\n[1.5, 3.5]",
      .infer = infer_mean,
      .decompose = decompose_mean,
      .vjp = mean_vjp,
      .jvp = ops::linear_jvp,
      .batch = ops::batch_reduced_dims,
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
      .complex = ComplexRule::PartByPart,
      .dtypes_note = {"integers: give a float dtype=, or convert first"},
  });
  table.add({.signature = Signature::parse(
                 "prod(x: tensor, dim: dims? = none, keepdim: bool = false, *, dtype: dtype? = none)"),
             .family = "reduce",
             .documentation =
                 "The product along `dim` (of all elements when none). Bools and integers multiply as i64.",
             .example = ">>> prod(tensor([1, 2, 3, 4])).item()\n24",
             .infer = infer_total,
             .vjp = prod_vjp,
             .jvp = prod_jvp,
             .batch = ops::batch_reduced_dims,
             .saves = saves_input(0),
             .lowering = lowering::Reduce{Combine::Prod},
             .traits = kFullPrecision,
             .onnx = onnx_rules::prod,
             .complex = complex_rules::prod});
}

template <Combine kCombine>
void add_extremum(OpTable& table, std::string_view signature, std::string_view documentation,
                  std::string_view example, OnnxRule onnx) {
  table.add({
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_extremum,
      .vjp = extremum_vjp,
      .jvp = extremum_jvp,
      .batch = ops::batch_reduced_dims,
      .saves = saves_input(0) | saves_output(0),
      .lowering = lowering::Reduce{kCombine},
      .onnx = onnx,
  });
}

}  // namespace

DType total_dtype(DType x, const Attrs& attrs) {
  return ops::dtype_or(attrs, is_differentiable(x) ? x : DType::I64);
}

std::vector<TensorType> infer_total(std::span<const TensorType> in, const Attrs& attrs) {
  return {reduced_type(in[0], attrs, total_dtype(in[0].dtype, attrs))};
}

DType combined_dtype(DType x, DType result) {
  if (x == DType::Bool && result == DType::I64) return x;
  if (category(result) != category(x) || size_of(result) > size_of(accumulator_of(x))) return result;
  // Integers wrap as they would have before. Floats are rounded first where that loses digits.
  const bool is_held = !is_float(x) || x == result || result == accumulator_of(x);
  return is_held ? x : result;
}

void add_fold_ops(OpTable& table) {
  add_total_ops(table);
  add_extremum<Combine::Max>(
      table, "amax(x: tensor, dim: dims? = none, keepdim: bool = false)",
      "The largest element along `dim` (of all when none); nan wins. Ties share the gradient.",
      ">>> amax(tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1).tolist()\n[5.0, 7.0]", onnx_rules::amax);
  add_extremum<Combine::Min>(
      table, "amin(x: tensor, dim: dims? = none, keepdim: bool = false)",
      "The smallest element along `dim` (of all when none); nan wins. Ties share the gradient.",
      ">>> amin(tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1).tolist()\n[1.0, 2.0]", onnx_rules::amin);
  add_truth_ops(table);
}

void add_reduce_ops(OpTable& table) {
  add_fold_ops(table);
  add_nan_sum_op(table);
  add_extremum_ops(table);
  add_moment_ops(table);
  add_scan_ops(table);
  add_running_extremum_ops(table);
  add_softmax_ops(table);
}

}  // namespace kiln
