// Owns reductions in two passes or with a function on top: var, std, norm, logsumexp.
#include <cmath>
#include <limits>

#include "tensor/ops/complex_rules.h"
#include "tensor/ops/moments.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"

namespace kiln {
namespace {
double correction_of(const Attrs& attrs) {
  if (attrs.has("correction")) return ops::number_attr(attrs, "correction");
  return attrs.get<bool>("unbiased") ? 1.0 : 0.0;
}
Dim count_of(const Tensor& x, const Attrs& attrs) {
  return ops::reduced_count(x.sizes(), ops::reduced_dims(attrs, x.rank()));
}
}  // namespace

double degrees(const Tensor& x, const Attrs& attrs) {
  const Dim count = count_of(x, attrs);
  return count == 0 ? 0.0 : std::max(0.0, static_cast<double>(count) - correction_of(attrs));
}

Scales scales_of(DType dtype) {
  if (dtype == DType::F64)
    return {{0x1p450, 0x1p-700}, {0x1p-200, 0x1p450}, {0x1p-700, 0x1p1000}, 0x1p-600, 0x1p900};
  return {{0x1p50, 0x1p-80}, {0x1p-30, 0x1p60}, {0x1p-90, 0x1p120}, 0x1p-70, 0x1p100};
}

namespace {
// v over the degrees of freedom, which stay an expression where the count is one.
Tensor over_degrees(const Tensor& v, const Tensor& x, const Attrs& attrs) {
  const Dim count = count_of(x, attrs);
  const double correction = correction_of(attrs);
  const bool is_whole = std::trunc(correction) == correction && std::abs(correction) < 0x1p53;
  if (count.is_known() || !is_whole) return v / degrees(x, attrs);
  return v / max(count - Dim(static_cast<std::int64_t>(correction)), Dim(0));
}
}  // namespace

DType logsumexp_dtype(DType dtype) { return is_float(dtype) ? dtype : default_float(); }

namespace {

using ops::keeps_dims;
using ops::reduced_dims;
using ops::reduced_sizes;

std::vector<TensorType> infer_float(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  const Dims dims = reduced_dims(attrs, static_cast<int>(in[0].sizes.size()));
  return {{in[0].dtype, in[0].device, reduced_sizes(in[0].sizes, dims, keeps_dims(attrs)), false}};
}

// ---- var, std --------------------------------------------------------------------------------------------

// ---- std of what has squares beyond the dtype ----
// Where the greatest element is very large or very small, all are scaled by a power of two first, which
// changes no digit.

Tensor scale_of(const Tensor& greatest) {
  const Scales scales = scales_of(greatest.dtype());
  const auto choose = [](const Tensor& mask, const Scale& scale, const Tensor& other) {
    return ops::where(mask, Tensor::number(scale.factor), other);
  };
  const auto below = [&](const Scale& scale) { return ops::lt(greatest, Tensor::number(scale.bound)); };
  const Tensor large = ops::gt(greatest, Tensor::number(scales.large.bound));
  const Tensor down = choose(large, scales.large, ops::ones_like(greatest));
  return choose(below(scales.tiny), scales.tiny, choose(below(scales.small), scales.small, down));
}

Tensor sum_of_squares(const Tensor& x, const Dims& dims) {
  const Tensor apart = x - ops::steady_mean(x, dims);
  return ops::sum(apart * apart, dims, true);
}

template <bool kRoot>
Tensors decompose_variance(const Op&, Inputs in, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, in[0].rank());
  const Tensor x = ops::to(in[0], ops::compute_dtype(in[0].dtype()));
  Tensor value;
  if (!kRoot) {
    value = over_degrees(sum_of_squares(x, dims), in[0], attrs);
  } else if (ops::reduced_count(x.sizes(), dims) == 0) {
    value = ops::sqrt(over_degrees(sum_of_squares(x, dims), in[0], attrs));
  } else {
    const Tensor scale = scale_of(ops::amax(ops::abs(x), dims, true));
    value = ops::sqrt(over_degrees(sum_of_squares(x * scale, dims), in[0], attrs)) / scale;
  }
  const Dims sizes = reduced_sizes(x.sizes(), dims, keeps_dims(attrs));
  return {ops::to(value.sizes() == sizes ? value : ops::reshape(value, sizes), in[0].dtype())};
}

// d var / dx = 2 (x - mean) / degrees, d std / dx = d var / dx / (2 std). The factor goes to what has the
// result's sizes; the two steps it takes there follow the count in graphs that hold for any.
Tensor apart(const Tensor& x, const Attrs& attrs) {
  const Tensor wide = ops::to(x, ops::compute_dtype(x.dtype()));
  return ops::to(wide - ops::steady_mean(wide, reduced_dims(attrs, x.rank())), x.dtype());
}
Tensor var_factor(const Tensor& v, const Tensor& x, const Attrs& attrs) {
  return over_degrees(v * 2.0, x, attrs);
}
// 0 where all elements are equal.
Tensor std_factor(const Tensor& v, const Tensor& x, const Tensor& y, const Attrs& attrs) {
  const Tensor zero = ops::eq(y, Tensor::number(0.0));
  const Tensor safe = ops::masked_fill(y, zero, Tensor::number(1.0));
  return ops::masked_fill(over_degrees(v / safe, x, attrs), zero, Tensor::number(0.0));
}

// The two ways a derivative of the input's sizes is used.
Tensors pull(const VjpArgs& args, const Tensor& grad, const Tensor& derivative) {
  const Tensor& x = args.inputs[0];
  return {ops::restore_dims(grad, x.sizes(), reduced_dims(args.attrs, x.rank())) * derivative};
}
Tensors pull(const VjpArgs& args, const Tensor& derivative) { return pull(args, args.grads[0], derivative); }
Tensors push(const JvpArgs& args, const Tensor& derivative) {
  const Dims dims = reduced_dims(args.attrs, args.inputs[0].rank());
  return {ops::sum(args.tangents[0] * derivative, dims, keeps_dims(args.attrs))};
}
Tensor pushed_apart(const JvpArgs& args) { return push(args, apart(args.inputs[0], args.attrs))[0]; }

Tensors var_vjp(const VjpArgs& args) {
  const Tensor& x = args.inputs[0];
  return pull(args, var_factor(args.grads[0], x, args.attrs), apart(x, args.attrs));
}
Tensors var_jvp(const JvpArgs& args) { return {var_factor(pushed_apart(args), args.inputs[0], args.attrs)}; }
Tensors std_vjp(const VjpArgs& args) {
  const Tensor& x = args.inputs[0];
  return pull(args, std_factor(args.grads[0], x, args.outputs[0], args.attrs), apart(x, args.attrs));
}
Tensors std_jvp(const JvpArgs& args) {
  return {std_factor(pushed_apart(args), args.inputs[0], args.outputs[0], args.attrs)};
}

// ---- norm ------------------------------------------------------------------------------------------------

std::vector<TensorType> infer_vector_norm(std::span<const TensorType> in, const Attrs& attrs) {
  const DType dtype = ops::dtype_or(attrs, in[0].dtype);
  TensorType x = in[0];
  x.dtype = dtype;
  ops::need_float(x, attrs);
  const Dims dims = reduced_dims(attrs, static_cast<int>(in[0].sizes.size()));
  if (std::isinf(ops::number_attr(attrs, "p"))) ops::need_elements(in[0], dims, attrs);
  return {{dtype, x.device, reduced_sizes(x.sizes, dims, keeps_dims(attrs)), false}};
}

// The sum (or extremum) under the root, by p.
Tensor norm_body(const Tensor& x, double p, const Dims& dims, bool keepdim) {
  if (p == 2.0) return ops::sqrt(ops::sum(x * x, dims, keepdim));
  const Tensor size = ops::abs(x);
  if (p == 1.0) return ops::sum(size, dims, keepdim);
  if (std::isinf(p)) return p > 0 ? ops::amax(size, dims, keepdim) : ops::amin(size, dims, keepdim);
  if (p == 0.0) return ops::sum(ops::to(ops::ne(x, Tensor::number(0.0)), x.dtype()), dims, keepdim);
  const Tensor powers = ops::sum(ops::pow(size, Tensor::number(p)), dims, keepdim);
  return ops::pow(powers, Tensor::number(1.0 / p));
}

Tensors decompose_norm(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = ops::dtype_or(attrs, in[0].dtype());
  const Tensor x = ops::to(ops::to(in[0], dtype), ops::compute_dtype(dtype));
  const Dims dims = reduced_dims(attrs, x.rank());
  return {ops::to(norm_body(x, ops::number_attr(attrs, "p"), dims, keeps_dims(attrs)), dtype)};
}

// d norm / dx, 0 where the norm is 0 (a subgradient).
Tensor norm_derivative(const Tensor& input, const Tensor& output, const Attrs& attrs) {
  const double p = ops::number_attr(attrs, "p");
  const Tensor x = ops::to(input, output.dtype());
  const Dims dims = reduced_dims(attrs, x.rank());
  const Tensor y = ops::restore_dims(output, x.sizes(), dims);
  if (p == 1.0) return ops::sign(x);
  if (p == 0.0) return ops::zeros_like(x);
  if (std::isinf(p)) {
    const Tensor reached = ops::to(ops::eq(ops::abs(x), y), x.dtype());
    return ops::sign(x) * (reached / ops::sum(reached, dims, true));
  }
  const Tensor zero = ops::eq(y, Tensor::number(0.0));
  const Tensor safe = ops::masked_fill(y, zero, Tensor::number(1.0));
  if (p == 2.0) return ops::masked_fill(x / safe, zero, Tensor::number(0.0));
  // Of elements that are 0 the sign is, and their power may be infinite, or its derivative.
  const Tensor size =
      ops::masked_fill(ops::abs(x) / safe, ops::eq(x, Tensor::number(0.0)), Tensor::number(1.0));
  const Tensor ratio = ops::pow(size, Tensor::number(p - 1.0));
  return ops::masked_fill(ops::sign(x) * ratio, zero, Tensor::number(0.0));
}

Tensors norm_vjp(const VjpArgs& args) {
  const Tensors grad = pull(args, norm_derivative(args.inputs[0], args.outputs[0], args.attrs));
  return {ops::to(grad[0], args.input_types[0].dtype)};
}
Tensors norm_jvp(const JvpArgs& args) {
  return {ops::to(push(args, norm_derivative(args.inputs[0], args.outputs[0], args.attrs))[0],
                  args.outputs[0].dtype())};
}

// ---- logsumexp -------------------------------------------------------------------------------------------

std::vector<TensorType> infer_logsumexp(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims dims = reduced_dims(attrs, static_cast<int>(in[0].sizes.size()));
  return {{logsumexp_dtype(in[0].dtype), in[0].device, reduced_sizes(in[0].sizes, dims, keeps_dims(attrs)),
           false}};
}

Tensors decompose_logsumexp(const Op&, Inputs in, const Attrs& attrs) {
  const DType dtype = logsumexp_dtype(in[0].dtype());
  const Tensor x = ops::to(in[0], ops::compute_dtype(dtype));
  const Dims dims = reduced_dims(attrs, x.rank());
  if (ops::reduced_count(x.sizes(), dims) == 0)
    return {ops::to(ops::log(ops::sum(x, dims, keeps_dims(attrs))), dtype)};
  const Tensor peak = ops::amax(x, dims, true);
  const Tensor m = ops::masked_fill(peak, ops::isinf(peak), Tensor::number(0.0));
  const Tensor y = ops::log(ops::sum(ops::exp(x - m), dims, true)) + m;
  return {ops::to(keeps_dims(attrs) ? y : ops::squeeze(y, dims), dtype)};
}

Tensor logsumexp_derivative(const Tensor& x, const Tensor& output, const Attrs& attrs) {
  const Tensor y = ops::restore_dims(output, x.sizes(), reduced_dims(attrs, x.rank()));
  // Where the result is -inf, so is every element, and each would be exp(nan).
  const Tensor nothing = ops::eq(y, Tensor::number(-std::numeric_limits<double>::infinity()));
  return ops::exp(x - ops::masked_fill(y, nothing, Tensor::number(0.0)));
}

Tensors logsumexp_vjp(const VjpArgs& args) {
  return pull(args, logsumexp_derivative(args.inputs[0], args.outputs[0], args.attrs));
}
Tensors logsumexp_jvp(const JvpArgs& args) {
  return push(args, logsumexp_derivative(args.inputs[0], args.outputs[0], args.attrs));
}

template <bool kRoot>
Op variance_row(std::string_view signature, std::string_view documentation, std::string_view example) {
  return {
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_float,
      .decompose = decompose_variance<kRoot>,
      .vjp = kRoot ? std_vjp : var_vjp,
      .jvp = kRoot ? std_jvp : var_jvp,
      .batch = ops::batch_reduced_dims,
      .saves = kRoot ? saves_input(0) | saves_output(0) : saves_input(0),
      .lowering = Lowering::Composite,
      .traits = kFixesNumbers | kFullPrecision,
      .complex = kRoot ? complex_rules::std : complex_rules::var,
  };
}

// `var(x, false)`: of all elements, the second argument being `unbiased`.
std::vector<TensorType> infer_of_all(std::span<const TensorType> in, const Attrs& attrs) {
  ops::need_float(in[0], attrs);
  return {{in[0].dtype, in[0].device, {}, false}};
}
template <bool kRoot>
Tensors variance_of_all(const Op&, Inputs in, const Attrs& attrs) {
  static const Op& row = OpTable::get().at(kRoot ? "std" : "var");
  return ops::apply(row, in, {{"unbiased", attrs.at("unbiased")}});
}
template <bool kRoot>
Op variance_of_all_row(std::string_view signature, std::string_view documentation, std::string_view example) {
  return {
      .signature = Signature::parse(signature),
      .family = "reduce",
      .documentation = documentation,
      .example = example,
      .infer = infer_of_all,
      .decompose = variance_of_all<kRoot>,
      .vjp = Rule<VjpFn>::none(kComposite),
      .jvp = Rule<JvpFn>::none(kComposite),
      .batch = Rule<BatchFn>::none(kComposite),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
      .complex = kRoot ? complex_rules::std : complex_rules::var,
  };
}

}  // namespace

void add_moment_ops(OpTable& table) {
  table.add(
      variance_row<false>("var(x: tensor, dim: dims? = none, unbiased: bool = true, keepdim: bool = false, "
                          "*, correction: number? = none)",
                          "The variance along `dim` (of all elements when none): squared distances from the "
                          "mean, divided by the count "
                          "less `correction` (1 unless `unbiased` is false).",
                          ">>> var(tensor([1.0, 2.0, 3.0, 4.0]), correction=0).item()\n1.25"));
  table.add(variance_of_all_row<false>("var.unbiased(x: tensor, unbiased: bool)",
                                       "The variance of all elements.",
                                       ">>> var(tensor([1.0, 2.0, 3.0, 4.0]), false).item()\n1.25"));
  table.add(
      variance_row<true>("std(x: tensor, dim: dims? = none, unbiased: bool = true, keepdim: bool = false, *, "
                         "correction: number? = none)",
                         "The standard deviation along `dim`: the square root of `var`.",
                         ">>> std(tensor([1.0, 3.0, 1.0, 3.0]), correction=0).item()\n1.0"));
  table.add(variance_of_all_row<true>("std.unbiased(x: tensor, unbiased: bool)",
                                      "The standard deviation of all elements.",
                                      ">>> std(tensor([1.0, 3.0, 1.0, 3.0]), false).item()\n1.0"));
  table.add({
      .signature =
          Signature::parse("norm(x: tensor, p: number = 2, dim: dims? = none, keepdim: bool = false, *, "
                           "dtype: dtype? = none)"),
      .family = "reduce",
      .documentation =
          "The p-norm along `dim` (of all elements when none): the p-th root of the sum of |x|**p; the "
          "largest |x| for p = inf, the smallest for -inf, the number of elements not zero for 0.",
      .example = ">>> norm(tensor([3.0, 4.0])).item()\n5.0",
      .infer = infer_vector_norm,
      .decompose = decompose_norm,
      .vjp = norm_vjp,
      .jvp = norm_jvp,
      .batch = ops::batch_reduced_dims,
      .saves = saves_input(0) | saves_output(0),
      .lowering = Lowering::Composite,
      .traits = kFixesNumbers | kFullPrecision,
      .complex = complex_rules::of_sizes,
  });
  table.add({
      .signature = Signature::parse("logsumexp(x: tensor, dim: dims, keepdim: bool = false)"),
      .family = "reduce",
      .documentation = "log(sum(exp(x))) along `dim`, without overflow.",
      .example = ">>> logsumexp(tensor([1000.0, 1000.0]), dim=0).item() > 1000\ntrue",
      .infer = infer_logsumexp,
      .decompose = decompose_logsumexp,
      .vjp = logsumexp_vjp,
      .jvp = logsumexp_jvp,
      .batch = ops::batch_reduced_dims,
      .saves = saves_input(0) | saves_output(0),
      .lowering = Lowering::Composite,
      .traits = kFullPrecision,
  });
}

}  // namespace kiln
