// Owns running sums and products: one after the other along a dimension, floats below f64 carried in f64.
#include "tensor/levels/wrapper.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {

int dim_of(const Attrs& attrs, int rank) {
  return wrap_dim(attrs.get<std::int64_t>("dim"), rank, attrs.op()->name());
}

std::vector<TensorType> infer_scan(std::span<const TensorType> in, const Attrs& attrs) {
  dim_of(attrs, static_cast<int>(in[0].sizes.size()));
  return {{total_dtype(in[0].dtype, attrs), in[0].device, in[0].sizes, false}};
}

// Sum of an element and all after it.
Tensor sum_from_here(const Tensor& x, int dim) {
  if (x.rank() == 0) return x;
  const Dims along{dim};
  return ops::flip(ops::cumsum(ops::flip(x, along), dim), along);
}

Tensors cumsum_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  const int dim = dim_of(args.attrs, static_cast<int>(x.sizes.size()));
  return {ops::to(sum_from_here(args.grads[0], dim), x.dtype)};
}

// A running product and zeros: before the first zero it is a quotient, at the first zero the product of the
// others, after it there is no change.
struct RunningProduct {
  Tensor x, before_zero, at_first_zero;
  Tensor safe;    // x with zeros replaced by ones
  Tensor others;  // running product with the first zero replaced by one

  RunningProduct(const Tensor& input, int dim) : x(input) {
    const Tensor zero = ops::eq(x, Tensor::number(0.0));
    const Tensor zeros_so_far = ops::cumsum(zero, dim);
    before_zero = ops::eq(zeros_so_far, Tensor::number(std::int64_t{0}));
    at_first_zero = ops::logical_and(zero, ops::eq(zeros_so_far, Tensor::number(std::int64_t{1})));
    safe = ops::masked_fill(x, zero, Tensor::number(1.0));
    others = ops::cumprod(ops::masked_fill(x, at_first_zero, Tensor::number(1.0)), dim);
  }
};

// With a zero in x nothing can be divided by. Element (…, k, i) of the result is the product of x_0 … x_i
// without x_k, and 0 for i < k: the derivative of output i by input k, itself right to any order. Quadratic
// in the length.
Tensor products_without_each(const Tensor& x, int dim) {
  const Tensor last = ops::transpose(x, dim, -1);
  const Dim n = last.size(last.rank() - 1);
  const Dim square[] = {n, n};
  const Tensor ones = ops::ones(square, x.dtype(), x.device());
  const Tensor diagonal = ops::to(ops::tril(ops::triu(ones)), DType::Bool);
  const Tensor without = ops::where(diagonal, Tensor::number(1.0), ops::unsqueeze(last, -2));
  return ops::cumprod(without, without.rank() - 1) * ops::triu(ones);
}

// In any example of a batch: what is done then is right for those without a zero, too.
bool has_zero(const Tensor& x) {
  return ops::any(ops::eq(levels::innermost(x), Tensor::number(std::int64_t{0}))).item_bool();
}

// Sums `weights` times the derivatives over `over`: -1 over the outputs, -2 over the inputs.
Tensor weigh_products(const Tensor& x, const Tensor& weights, int dim, int over) {
  const Tensor last = ops::unsqueeze(ops::transpose(weights, dim, -1), over == -1 ? -2 : -1);
  const Tensor terms = products_without_each(x, dim) * last;
  const Dim dims[] = {over};
  return ops::transpose(ops::sum(terms, dims), dim, -1);
}

Tensors cumprod_vjp(const VjpArgs& args) {
  const Tensor& grad = args.grads[0];
  const TensorType& type = args.input_types[0];
  const int dim = dim_of(args.attrs, static_cast<int>(type.sizes.size()));
  const Tensor x = ops::to(args.inputs[0], grad.dtype());
  if (x.rank() > 0 && has_zero(x)) return {ops::to(weigh_products(x, grad, dim, -1), type.dtype)};
  const RunningProduct product(x, dim);
  const Tensor quotient = sum_from_here(grad * ops::cumprod(product.x, dim), dim) / product.safe;
  const Tensor at_zero = sum_from_here(grad * product.others, dim);
  const Tensor zero = ops::zeros_like(grad);
  return {ops::to(ops::where(product.before_zero, quotient, ops::where(product.at_first_zero, at_zero, zero)),
                  type.dtype)};
}

Tensors cumprod_jvp(const JvpArgs& args) {
  const Tensor tangent = ops::to(args.tangents[0], args.outputs[0].dtype());
  const int dim = dim_of(args.attrs, tangent.rank());
  const Tensor x = ops::to(args.inputs[0], tangent.dtype());
  if (x.rank() > 0 && has_zero(x)) return {weigh_products(x, tangent, dim, -2)};
  const RunningProduct product(x, dim);
  const Tensor zero = ops::zeros_like(tangent);
  const Tensor ratios = ops::where(product.before_zero, tangent / product.safe, zero);
  const Tensor at_zero = ops::cumsum(ops::where(product.at_first_zero, tangent, zero), dim);
  return {
      ops::where(product.before_zero, args.outputs[0] * ops::cumsum(ratios, dim), product.others * at_zero)};
}

}  // namespace

void add_scan_ops(OpTable& table) {
  table.add({.signature = Signature::parse("cumsum(x: tensor, dim: index, *, dtype: dtype? = none)"),
             .family = "reduce",
             .documentation = "Running sums along `dim`. Bools and integers add up as i64.",
             .example = ">>> cumsum(tensor([1, 2, 3]), dim=0).tolist()\n[1, 3, 6]",
             .infer = infer_scan,
             .vjp = cumsum_vjp,
             .jvp = ops::linear_jvp,
             .batch = ops::batch_index,
             .lowering = Lowering::Library,
             .traits = kInplace | kFullPrecision,
             .onnx = onnx_rules::cumsum,
             .complex = ComplexRule::PartByPart});
  table.add({.signature = Signature::parse("cumprod(x: tensor, dim: index, *, dtype: dtype? = none)"),
             .family = "reduce",
             .documentation = "Running products along `dim`. Bools and integers multiply as i64.",
             .example = ">>> cumprod(tensor([1, 2, 3, 4]), dim=0).tolist()\n[1, 2, 6, 24]",
             .infer = infer_scan,
             .vjp = cumprod_vjp,
             .jvp = cumprod_jvp,
             .batch = ops::batch_index,
             .saves = saves_input(0),
             .lowering = Lowering::Library,
             .traits = kInplace | kFullPrecision,
             .onnx = onnx_rules::cumprod,
             .complex = complex_rules::cumprod});
}

}  // namespace kiln
