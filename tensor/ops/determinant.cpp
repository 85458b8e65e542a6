// Determinants and their logarithms.
#include <limits>

#include "tensor/onnx/rules.h"
#include "tensor/ops/linalg.h"

namespace kiln {

namespace {

using namespace linalg;
using rules::apply_one;

Tensor flipped(const Tensor& x) { return ops::flip(x, Dims{x.rank() - 1}); }

// The product of the elements before each, along the last dimension.
Tensor products_before(const Tensor& x) {
  const int last = x.rank() - 1;
  const Tensor head = ops::narrow(x, last, 0, x.size(last) - 1);
  const Tensor parts[] = {ops::ones_like(ops::narrow(x, last, 0, 1)), head};
  return ops::cumprod(ops::cat(parts, last), last);
}
// Likewise without each; without each two, in a symmetric matrix with a zero diagonal; and without each
// three, where 0 stands for three that are not different. No division, so that zeros are as good as any
// number.
Tensor products_without_one(const Tensor& s) {
  return products_before(s) * flipped(products_before(flipped(s)));
}
Tensor products_without_two(const Tensor& s) {
  // Row i, column j: the elements after i, ones up to it; the product of those before j is of those between.
  const Tensor after = ops::triu(ops::expand(row(s), diagonal_matrix(s).sizes()), 1);
  const Tensor between = products_before(after + ops::tril(ops::ones_like(after)));
  const Tensor upper =
      ops::triu(column(products_before(s)) * between * row(flipped(products_before(flipped(s)))), 1);
  return upper + t(upper);
}

Tensor products_without_three(const Tensor& s) {
  const Tensor own = ops::gt(eye(s.size(s.rank() - 1), s.type()), Tensor::number(0.0));
  const Tensor others = ops::where(own, Tensor::number(1.0), row(s));  // row i: without s[i]
  const Tensor same = ops::logical_or(ops::unsqueeze(own, 2), ops::unsqueeze(own, 1));
  return ops::masked_fill(products_without_two(others), same, Tensor::number(0.0));
}

std::vector<TensorType> det_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType type = infer_square(inputs, attrs)[0];
  return {rules::with_sizes(type, batch_sizes(type.sizes))};
}

// ---- det: its derivative is the matrix of cofactors, which singular matrices have too ----

Tensors det_vjp(const VjpArgs& args) {
  return {column(column(args.grads[0])) * ops::conj(ops::cofactor(args.inputs[0]))};
}
Tensors det_jvp(const JvpArgs& args) {
  const int rank = args.inputs[0].rank();
  return {ops::sum(ops::cofactor(args.inputs[0]) * args.tangents[0], Dims{rank - 2, rank - 1})};
}

// ---- cofactor ----
// With a = u diag(s) vh: det(a) = det(u vh) prod(s), so the cofactors are det(u vh) u diag(p) vh, p being the
// products of all s but one, with conjugate u and vh where they are complex. They change by da as those of
// diag(s) do by u.t() da v (M. Giles, "Collected matrix derivative results", 2008, gives the case of an
// inverse).

struct Spectrum {
  Tensor u, s, vh, sign;

  // What cofactors are of those of diag(s).
  Tensor cofactors(const Tensor& x) const { return sign * mm(ops::conj(u), x, ops::conj(vh)); }
};
Spectrum spectrum_of(const Tensor& a) {
  const Tensors usv = ops::thin_svd(a);
  return {usv[0], usv[1], usv[2],
          column(column(ops::sign(ops::det(ops::detach(ops::matmul(usv[0], usv[2]))))))};
}

Tensors cofactor_body(const Op&, Inputs inputs, const Attrs&) {
  if (inputs[0].numel() == 0) return {ops::zeros_like(inputs[0])};
  const auto [u, s, vh, sign] = spectrum_of(inputs[0]);
  return {sign * ops::matmul(ops::conj(u) * row(products_without_one(s)), ops::conj(vh))};
}

// ---- cofactor_change ----
// How the cofactors change by da, and how that changes: the derivatives of det of the second and the third
// order. Both are symmetric in the changes and in what a gradient weighs them by, so tangents and gradients
// go through them alike. An op of its own, so that its derivative, too, is made of products of singular
// values: what goes through singular vectors has no value where singular values are equal.

Tensor changed_cofactors(const Tensor& a, const Tensor& change) {
  static const Op& row = op_named("cofactor_change");
  return apply_one(row, {a, change});
}

// sum over i of x[i, i] y[.., i]
Tensor weighted_by_diagonal(const Tensor& y, const Tensor& x) {
  return ops::sum(y * row(diagonal(x)), Dims{y.rank() - 1});
}

Tensors cofactor_change_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensor& a = inputs[0];
  if (a.numel() == 0) return {ops::zeros_like(a)};
  const Spectrum of = spectrum_of(a);
  const Tensor x = mm(t(of.u), inputs[1], t(of.vh));
  const Tensor pairs = products_without_two(of.s);
  return {of.cofactors(diagonal_matrix(weighted_by_diagonal(pairs, x)) - pairs * turned(x))};
}

// With p(i, j, k) the products without three: of the determinant of diag(s) the terms x[i, i] y[j, j] z[k,
// k], less those with two of them crossed, and those where the three go around, as a matrix of what stands by
// z.
Tensor second_change(const Tensor& a, const Tensor& first, const Tensor& second) {
  if (a.numel() == 0) return ops::zeros_like(a);
  const Spectrum of = spectrum_of(a);
  const Tensor x = mm(t(of.u), first, t(of.vh)), y = mm(t(of.u), second, t(of.vh));
  const Tensor p = products_without_three(of.s);
  const int last = p.rank() - 1;
  const auto by_diagonal = [&](const Tensor& m) {  // sum over j of p(i, j, k) m[j, j]: symmetric in i and k
    return ops::sum(p * ops::unsqueeze(row(diagonal(m)), last - 2), Dims{last});
  };
  const auto around = [&](const Tensor& m, const Tensor& n) {  // sum over j of p(i, j, k) m[i, j] n[j, k]
    return ops::sum(p * ops::unsqueeze(m, last) * ops::unsqueeze(n, last - 2), Dims{last - 1});
  };
  const Tensor across = ops::sum(p * ops::unsqueeze(x * turned(y), last), Dims{last - 2, last - 1});
  const Tensor on_diagonal = weighted_by_diagonal(by_diagonal(x), y) - across;
  const Tensor apart = around(x, y) + around(y, x) - x * by_diagonal(y) - y * by_diagonal(x);
  return of.cofactors(diagonal_matrix(on_diagonal) + turned(apart));
}

Tensors cofactor_vjp(const VjpArgs& args) {
  return {ops::conj(changed_cofactors(args.inputs[0], ops::conj(args.grads[0])))};
}
Tensors cofactor_jvp(const JvpArgs& args) { return {changed_cofactors(args.inputs[0], args.tangents[0])}; }

std::vector<TensorType> cofactor_change_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const std::vector<TensorType> type = infer_square(inputs.first(1), attrs);
  if (inputs[0].sizes == inputs[1].sizes && inputs[0].dtype == inputs[1].dtype) return type;
  throw OpError(
      ErrorKind::Shape,
      "cofactor_change: the change is " + to_string(inputs[1]) + ", the matrix " + to_string(inputs[0]),
      {1, 0}, "give both the same shape and dtype");
}
Tensors cofactor_change_batch(const BatchArgs& args) {
  const Tensor inputs[] = {rules::with_batch(args, 0), rules::with_batch(args, 1)};
  return kiln::bind(args.op, inputs, args.attrs);
}
Tensors cofactor_change_vjp(const VjpArgs& args) {
  const Tensor &a = args.inputs[0], &change = args.inputs[1], g = ops::conj(args.grads[0]);
  return {args.needs[0] ? ops::conj(second_change(a, change, g)) : Tensor(),
          args.needs[1] ? ops::conj(changed_cofactors(a, g)) : Tensor()};
}
Tensors cofactor_change_jvp(const JvpArgs& args) {
  const Tensor &a = args.inputs[0], &change = args.inputs[1];
  Tensor sum;
  if (args.tangents[0]) sum = second_change(a, change, args.tangents[0]);
  if (args.tangents[1]) {
    const Tensor part = changed_cofactors(a, args.tangents[1]);
    sum = sum ? sum + part : part;
  }
  return {sum};
}

// ---- slogdet, logdet ----

std::vector<TensorType> slogdet_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType type = det_infer(inputs, attrs)[0];
  return {type, real_type(type)};
}
// With c the trace of inv(a) da the logarithm changes by the real part of c, and a sign that is a complex
// number by i times itself times the imaginary part.
Tensors slogdet_vjp(const VjpArgs& args) {
  const Tensor &sign = args.outputs[0], &of_sign = args.grads[0];
  Tensor g = args.grads[1];
  if (is_complex(sign.dtype())) g = ops::complex(g, ops::imag(of_sign * ops::conj(sign)));
  return {column(column(g)) * t(ops::inv(args.inputs[0]))};
}
Tensors slogdet_jvp(const JvpArgs& args) {
  const Tensor changes = diagonal(ops::solve(args.inputs[0], args.tangents[0]));
  const Tensor change = ops::sum(changes, Dims{changes.rank() - 1});
  if (!is_complex(change.dtype())) return {Tensor(), change};
  return {args.outputs[0] * times_i(ops::imag(change)), ops::real(change)};
}

Tensors logdet_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensors both = rules::apply(op_named("slogdet"), inputs);
  if (is_complex(both[0].dtype())) return {ops::log(both[0]) + both[1]};
  const Tensor negative = ops::lt(both[0], Tensor::number(0.0));
  return {ops::masked_fill(both[1], negative, Tensor::number(std::numeric_limits<double>::quiet_NaN()))};
}

}  // namespace

void add_determinant_ops(OpTable& table) {
  table.add({.signature = Signature::parse("det(A: tensor)"),
             .family = kFamily,
             .documentation = "The determinant of a square matrix, or of each of a batch.",
             .example = ">>> det(tensor([[2.0, 1.0], [0.0, 3.0]])).item()\n6.0",
             .infer = det_infer,
             .vjp = det_vjp,
             .jvp = det_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0),
             .lowering = Lowering::Library,
             .onnx = "Det",
             .complex = ComplexRule::Computes});
  table.add({.signature = Signature::parse("cofactor(A: tensor)"),
             .family = kFamily,
             .documentation =
                 "The matrix of cofactors of a square matrix, the derivative of `det`: `det(A) * "
                 "inv(A).t()` where that exists. The adjugate is its transpose.",
             .example = ">>> cofactor(tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()\n[[0.0, 0.0], [0.0, 2.0]]",
             .infer = infer_square,
             .decompose = cofactor_body,
             .vjp = cofactor_vjp,
             .jvp = cofactor_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0),
             .effects = kMayFail,
             .complex = ComplexRule::Computes});
  table.add({.signature = Signature::parse("cofactor_change(A: tensor, change: tensor)"),
             .family = kFamily,
             .documentation = "How the matrix of cofactors of A changes with A, in the direction `change`: "
                              "the second derivative of "
                              "`det`.",
             .example = ">>> cofactor_change(eye(2), eye(2)).tolist()\n[[1.0, 0.0], [0.0, 1.0]]",
             .infer = cofactor_change_infer,
             .decompose = cofactor_change_body,
             .vjp = cofactor_change_vjp,
             .jvp = cofactor_change_jvp,
             .batch = cofactor_change_batch,
             .saves = saves_input(0) | saves_input(1),
             .effects = kMayFail,
             .complex = ComplexRule::Computes});
  table.add({.signature = Signature::parse("slogdet(A: tensor) -> (sign, logabsdet)"),
             .family = kFamily,
             .documentation =
                 "The sign of the determinant of a square matrix and the logarithm of its absolute value, "
                 "which neither overflows nor underflows. A singular matrix has 0 and -inf. The sign of a "
                 "complex determinant is a complex number of absolute value 1.",
             .example = ">>> slogdet(tensor([[-1.0, 0.0], [0.0, 1.0]]))[0].item()\n-1.0",
             .infer = slogdet_infer,
             .vjp = slogdet_vjp,
             .jvp = slogdet_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0) | saves_output(0),
             .lowering = Lowering::Library,
             .outputs = 2,
             .onnx = onnx_rules::slogdet,
             .complex = ComplexRule::Computes});
  table.add(composite_row("logdet(A: tensor)",
                          "The logarithm of the determinant of a square matrix: nan when that is negative.",
                          ">>> logdet(eye(2)).item()\n0.0", det_infer, logdet_body));
}

namespace ops {

Tensor det(const Tensor& a) {
  static const Op& row = op_named("det");
  return apply_one(row, {a});
}
Tensor cofactor(const Tensor& a) {
  static const Op& row = op_named("cofactor");
  return apply_one(row, {a});
}

}  // namespace ops
}  // namespace kiln
