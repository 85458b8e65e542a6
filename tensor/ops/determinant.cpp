// Determinants and their logarithms.
#include <limits>

#include "tensor/ops/linalg.h"

namespace kiln {

namespace {

using namespace linalg;
using rules::apply_one;

const Op& op(std::string_view name) { return OpTable::get().at(name); }

Tensor flipped(const Tensor& x) { return ops::flip(x, Dims{x.rank() - 1}); }

// The product of the elements before each, along the last dimension.
Tensor products_before(const Tensor& x) {
  const int last = x.rank() - 1;
  const Tensor head = ops::narrow(x, last, 0, x.size(last) - 1);
  const Tensor parts[] = {ops::ones_like(ops::narrow(x, last, 0, 1)), head};
  return ops::cumprod(ops::cat(parts, last), last);
}
// Likewise without each; and without each two, in a symmetric matrix with a zero diagonal. No division, so
// that zeros are as good as any number.
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

std::vector<TensorType> det_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType type = infer_square(inputs, attrs)[0];
  return {rules::with_sizes(type, batch_sizes(type.sizes))};
}

// ---- det: its derivative is the matrix of cofactors, which singular matrices have too ----

Tensors det_eager(const Op&, Inputs inputs, const Attrs&) { return {cpu::determinant(inputs[0])}; }
Tensors det_vjp(const VjpArgs& args) {
  return {column(column(args.grads[0])) * ops::cofactor(args.inputs[0])};
}
Tensors det_jvp(const JvpArgs& args) {
  const int rank = args.inputs[0].rank();
  return {ops::sum(ops::cofactor(args.inputs[0]) * args.tangents[0], Dims{rank - 2, rank - 1})};
}

// ---- cofactor ----
// With a = u diag(s) vh: det(a) = det(u vh) prod(s), so the cofactors are det(u vh) u diag(p) vh, p being the
// products of all s but one. They change by da as those of diag(s) do by u.t() da v (M. Giles, "Collected
// matrix derivative results", 2008, gives the case of an inverse).

struct Spectrum {
  Tensor u, s, vh, sign;
};
Spectrum spectrum_of(const Tensor& a) {
  const Tensors usv = ops::thin_svd(a);
  return {usv[0], usv[1], usv[2],
          column(column(ops::sign(ops::det(ops::detach(ops::matmul(usv[0], usv[2]))))))};
}

Tensors cofactor_body(const Op&, Inputs inputs, const Attrs&) {
  if (inputs[0].numel() == 0) return {ops::zeros_like(inputs[0])};
  const auto [u, s, vh, sign] = spectrum_of(inputs[0]);
  return {sign * ops::matmul(u * row(products_without_one(s)), vh)};
}

// The derivative is symmetric: tangents and gradients go through it alike.
Tensor cofactor_change(const Tensor& a, const Tensor& change) {
  if (a.numel() == 0) return ops::zeros_like(a);
  const auto [u, s, vh, sign] = spectrum_of(a);
  const Tensor turned = mm(t(u), change, t(vh));
  const Tensor pairs = products_without_two(s);
  const Tensor on_diagonal = ops::sum(pairs * row(diagonal(turned)), Dims{turned.rank() - 1});
  return sign * mm(u, diagonal_matrix(on_diagonal) - pairs * t(turned), vh);
}
Tensors cofactor_vjp(const VjpArgs& args) { return {cofactor_change(args.inputs[0], args.grads[0])}; }
Tensors cofactor_jvp(const JvpArgs& args) { return {cofactor_change(args.inputs[0], args.tangents[0])}; }

// ---- slogdet, logdet ----

std::vector<TensorType> slogdet_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType type = det_infer(inputs, attrs)[0];
  return {type, type};
}
Tensors slogdet_eager(const Op&, Inputs inputs, const Attrs&) {
  return cpu::sign_and_log_determinant(inputs[0]);
}
Tensors slogdet_vjp(const VjpArgs& args) {
  return {column(column(args.grads[1])) * t(ops::inv(args.inputs[0]))};
}
Tensors slogdet_jvp(const JvpArgs& args) {
  const Tensor change = diagonal(ops::solve(args.inputs[0], args.tangents[0]));
  return {Tensor(), ops::sum(change, Dims{change.rank() - 1})};
}

Tensors logdet_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensors both = rules::apply(op("slogdet"), inputs);
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
             .eager = det_eager,
             .vjp = det_vjp,
             .jvp = det_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0),
             .lowering = Lowering::Library,
             .onnx = "Det"});
  table.add({.signature = Signature::parse("cofactor(A: tensor)"),
             .family = kFamily,
             .documentation =
                 "The matrix of cofactors of a square matrix, the derivative of `det`: `det(A) * "
                 "inv(A).t()` where that exists. The adjugate is its transpose.",
             .example = ">>> cofactor(tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()\n[[0.0, 0.0], [0.0, 2.0]]",
             .infer = infer_square,
             .eager = cofactor_body,
             .vjp = cofactor_vjp,
             .jvp = cofactor_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0),
             .traits = kMayFail});
  table.add({.signature = Signature::parse("slogdet(A: tensor) -> (sign, logabsdet)"),
             .family = kFamily,
             .documentation =
                 "The sign of the determinant of a square matrix and the logarithm of its absolute value, "
                 "which neither overflows nor underflows. A singular matrix has 0 and -inf.",
             .example = ">>> slogdet(tensor([[-1.0, 0.0], [0.0, 1.0]]))[0].item()\n-1.0",
             .infer = slogdet_infer,
             .eager = slogdet_eager,
             .vjp = slogdet_vjp,
             .jvp = slogdet_jvp,
             .batch = rules::batch_through,
             .saves = saves_input(0),
             .lowering = Lowering::Library,
             .outputs = 2});
  table.add(composite_row("logdet(A: tensor)",
                          "The logarithm of the determinant of a square matrix: nan when that is negative.",
                          ">>> logdet(eye(2)).item()\n0.0", det_infer, logdet_body));
}

namespace ops {

Tensor det(const Tensor& a) {
  static const Op& row = op("det");
  return apply_one(row, {a});
}
Tensor cofactor(const Tensor& a) {
  static const Op& row = op("cofactor");
  return apply_one(row, {a});
}

}  // namespace ops
}  // namespace kiln
