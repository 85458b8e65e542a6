// QR, singular value and eigenvalue decompositions.
#include <fmt/format.h>

#include "tensor/how_many.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/decompose.h"
#include "tensor/ops/linalg.h"

namespace kiln {

bool reads_upper(const Attrs& attrs) {
  const auto& triangle = attrs.get<std::string>("UPLO");
  if (triangle == "L" || triangle == "l") return false;
  if (triangle == "U" || triangle == "u") return true;
  throw OpError(ErrorKind::Value,
                fmt::format("{}: UPLO is \"L\" or \"U\", not \"{}\"", attrs.op()->name(), triangle));
}

namespace {

enum class QrMode : std::uint8_t { Reduced, Complete, OnlyR };

using namespace linalg;
using rules::apply;
using rules::apply_one;

std::vector<TensorType> infer_matrices(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_matrices(inputs[0], attrs);
  need_field(inputs[0], attrs);
  return {inputs[0]};
}
// `x` with other sizes after those of the batch.
TensorType with_last(const TensorType& x, std::initializer_list<Dim> last) {
  Dims sizes = batch_sizes(x.sizes);
  for (const Dim size : last) sizes.push_back(size);
  return rules::with_sizes(x, sizes);
}
Dim row_count(const TensorType& x) { return x.sizes[x.sizes.size() - 2]; }
Dim column_count(const TensorType& x) { return x.sizes.back(); }

// ---- qr ----
// Differentiated as in S. Walter & L. Lehmann, "Algorithmic differentiation of linear algebra functions"
// (2010), with a wide matrix taken as [x | y], where x = q u and r = [u | q.t() y] (M. Roberts & D. Roberts,
// "QR and LQ decomposition matrix backpropagation algorithms", 2020).

QrMode mode_of(const Attrs& attrs) {
  const auto& mode = attrs.get<std::string>("mode");
  if (mode == "reduced") return QrMode::Reduced;
  if (mode == "complete") return QrMode::Complete;
  if (mode == "r") return QrMode::OnlyR;
  throw OpError(ErrorKind::Value,
                fmt::format("qr: mode is \"reduced\", \"complete\" or \"r\", not \"{}\"", mode));
}

std::vector<TensorType> qr_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_matrices(inputs, attrs)[0];
  const QrMode mode = mode_of(attrs);
  const Dim rank = mode == QrMode::Complete ? row_count(x) : min(row_count(x), column_count(x));
  return {mode == QrMode::OnlyR ? rules::with_sizes(x, Dims{0}) : with_last(x, {row_count(x), rank}),
          with_last(x, {rank, column_count(x)})};
}

void need_derivative(const Attrs& attrs, Dim rows, Dim columns) {
  const QrMode mode = mode_of(attrs);
  const std::string help = "use qr(A, mode=\"reduced\")";
  if (mode == QrMode::OnlyR)
    throw OpError(ErrorKind::Autograd,
                  "qr: with mode=\"r\" there is no derivative: it depends on Q, which is not computed", {0},
                  help);
  if (mode == QrMode::Complete && rows > columns)
    throw OpError(ErrorKind::Autograd,
                  fmt::format("qr: with mode=\"complete\" and {} but {} there is no derivative: "
                              "beyond the first {} the columns of Q are an arbitrary basis",
                              how_many(rows, "row"), how_many(columns, "column"), columns),
                  {0}, help);
}

// x made symmetric from its lower triangle. Of complex matrices r has a real diagonal.
Tensor lower_mirrored(const Tensor& x) {
  const Tensor below = ops::tril(x, -1);
  if (!is_complex(x.dtype())) return ops::tril(x) + t(below);
  return below + t(below) + diagonal_matrix(real_part(diagonal(x)));
}

Tensor tall_qr_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  const Tensor middle = ops::matmul(r, t(gr)) - ops::matmul(t(gq), q);
  // y r.t() = …, solved for y
  return ops::solve_triangular(t(r), gq + ops::matmul(q, lower_mirrored(middle)), false, false);
}
Tensors qr_vjp(const VjpArgs& args) {
  const Dim m = row_count(args.input_types[0]);
  const Dim n = column_count(args.input_types[0]);
  need_derivative(args.attrs, m, n);
  const Tensor& q = args.outputs[0];
  const Tensor& r = args.outputs[1];
  const Tensor& gq = args.grads[0];
  const Tensor& gr = args.grads[1];
  if (m >= n) return {tall_qr_gradient(q, r, gq, gr)};
  const int last = r.rank() - 1;
  const Tensor y = ops::matmul(q, ops::narrow(r, last, m, n - m));
  const Tensor gv = ops::narrow(gr, last, m, n - m);
  const Tensor parts[] = {tall_qr_gradient(q, ops::narrow(r, last, 0, m), gq + ops::matmul(y, t(gv)),
                                           ops::narrow(gr, last, 0, m)),
                          ops::matmul(q, gv)};
  return {ops::cat(parts, last)};
}

Tensors tall_qr_change(const Tensor& q, const Tensor& r, const Tensor& change) {
  const Tensor right = ops::solve_triangular(r, change, true, false);  // change inv(r)
  const Tensor turned = ops::matmul(t(q), right);
  Tensor upper = turned - antisymmetric_twice(ops::tril(turned, -1));
  if (is_complex(change.dtype())) upper = upper - diagonal_matrix(times_i(ops::imag(diagonal(turned))));
  return {right - ops::matmul(q, upper), ops::matmul(upper, r)};
}
Tensors qr_jvp(const JvpArgs& args) {
  const Tensor& change = args.tangents[0];
  const Dim m = linalg::rows_of(change);
  const Dim n = linalg::columns_of(change);
  need_derivative(args.attrs, m, n);
  const Tensor& q = args.outputs[0];
  const Tensor& r = args.outputs[1];
  if (m >= n) return tall_qr_change(q, r, change);
  const int last = r.rank() - 1;
  const auto right = [&](const Tensor& x) { return ops::narrow(x, last, m, n - m); };
  const Tensors left = tall_qr_change(q, ops::narrow(r, last, 0, m), ops::narrow(change, last, 0, m));
  const Tensor y = ops::matmul(q, right(r));
  const Tensor parts[] = {left[1], ops::matmul(t(left[0]), y) + ops::matmul(t(q), right(change))};
  return {left[0], ops::cat(parts, last)};
}
Tensors qr_batch(const BatchArgs& args) {
  Tensors outputs = kiln::bind(args.op, args.inputs, args.attrs);
  if (mode_of(args.attrs) == QrMode::OnlyR) outputs[0] = ops::expand(outputs[0], Dims{args.batch_size, 0});
  return outputs;
}

// ---- thin_svd, svdvals, svd ----
// Differentiated as in J. Townsend, "Differentiating the singular value decomposition" (2016).

std::vector<TensorType> thin_svd_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_matrices(inputs, attrs)[0];
  const Dim k = min(row_count(x), column_count(x));
  return {with_last(x, {row_count(x), k}), real_type(with_last(x, {k})), with_last(x, {k, column_count(x)})};
}

// Row i, column j: x[j] - x[i]; ones on the diagonal, where nothing is divided.
Tensor gaps(const Tensor& x) { return row(x) - column(x) + diagonal_matrix(ops::ones_like(x)); }
// Likewise s[j]**2 - s[i]**2, as a product that keeps small differences.
Tensor square_gaps(const Tensor& s) {
  return (row(s) - column(s)) * (row(s) + column(s)) + diagonal_matrix(ops::ones_like(s));
}
Tensor off_diagonal(const Tensor& x) { return x - diagonal_matrix(diagonal(x)); }
// Twice the antisymmetric part, which turns columns into one another.
Tensor mixing(const Tensor& x) {
  const Tensor twice = antisymmetric_twice(x);
  return is_complex(x.dtype()) ? off_diagonal(twice) : twice;
}
// x without what lies in the columns of the orthonormal q.
Tensor outside(const Tensor& x, const Tensor& q) { return x - mm(q, t(q), x); }

// The imaginary parts on the diagonal: by what columns turn in the plane of complex numbers.
Tensor turns(const Tensor& x) { return ops::imag(diagonal(x)); }

// A column of complex u and its row of vh may turn against one another, and u is settled. What is on the
// diagonal of u.t() du and of vh dv is then that: u stands still, v turns as vh.t() da u asks, and both are
// turned back.
Tensor phases_of_svd(const Tensor& u, const Tensor& s, const Tensor& vh, Tensor& gu, const Tensor& gvh) {
  const Tensor of_v = turns(ops::matmul(vh, t(gvh)));
  gu = gu + gradient_of_phase(row(turns(ops::matmul(t(u), gu)) + of_v), u);
  return diagonal_matrix(times_i(-divide_or_zero(of_v, s)));
}

Tensors thin_svd_vjp(const VjpArgs& args) {
  const Tensor &u = args.outputs[0], &s = args.outputs[1], &vh = args.outputs[2];
  const Tensor &gs = args.grads[1], &gvh = args.grads[2];
  Tensor gu = args.grads[0], on_diagonal = diagonal_matrix(gs);
  if (is_complex(u.dtype())) on_diagonal = on_diagonal + phases_of_svd(u, s, vh, gu, gvh);
  const Tensor gaps = square_gaps(s);
  const Tensor from_u = divide_or_zero(mixing(ops::matmul(t(u), gu)), gaps) * row(s);
  const Tensor from_v = divide_or_zero(mixing(ops::matmul(vh, t(gvh))), gaps) * column(s);
  Tensor grad = mm(u, from_u + from_v + on_diagonal, vh);
  const Dim k = s.size(s.rank() - 1);
  if (linalg::rows_of(u) > k) grad = grad + ops::matmul(divide_or_zero(outside(gu, u), row(s)), vh);
  if (linalg::columns_of(vh) > k)
    grad = grad + ops::matmul(u, t(divide_or_zero(outside(t(gvh), t(vh)), row(s))));
  return {grad};
}

Tensors thin_svd_jvp(const JvpArgs& args) {
  const Tensor &u = args.outputs[0], &s = args.outputs[1], &vh = args.outputs[2];
  const Tensor& change = args.tangents[0];
  const Tensor turned = mm(t(u), change, t(vh));
  const Tensor gaps = square_gaps(s);
  const Tensor right = turned * row(s);
  const Tensor left = column(s) * turned;
  Tensor du = ops::matmul(u, divide_or_zero(off_diagonal(right + t(right)), gaps));
  Tensor dv = ops::matmul(t(vh), divide_or_zero(off_diagonal(left + t(left)), gaps));
  const Dim k = s.size(s.rank() - 1);
  if (linalg::rows_of(u) > k) du = du + divide_or_zero(outside(ops::matmul(change, t(vh)), u), row(s));
  if (linalg::columns_of(vh) > k) dv = dv + divide_or_zero(outside(ops::matmul(t(change), u), t(vh)), row(s));
  if (is_complex(u.dtype())) {
    dv = dv - t(vh) * times_i(row(divide_or_zero(turns(turned), s)));
    const Tensor phase = times_i(phase_of_change(du, u));
    du = du - u * phase;
    dv = dv - t(vh) * phase;
  }
  return {du, real_part(diagonal(turned)), t(dv)};
}

std::vector<TensorType> svdvals_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {thin_svd_infer(inputs, attrs)[1]};
}
Tensors svdvals_vjp(const VjpArgs& args) {
  const Tensors usv = ops::thin_svd(args.inputs[0]);
  return {ops::matmul(usv[0] * row(args.grads[0]), usv[2])};
}
Tensors svdvals_jvp(const JvpArgs& args) {
  const Tensors usv = ops::thin_svd(args.inputs[0]);
  return {real_part(diagonal(mm(t(usv[0]), args.tangents[0], t(usv[2]))))};
}

std::vector<TensorType> svd_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  std::vector<TensorType> types = thin_svd_infer(inputs, attrs);
  if (!attrs.get<bool>("full_matrices")) return types;
  const Dim m = row_count(inputs[0]);
  const Dim n = column_count(inputs[0]);
  return {with_last(types[0], {m, m}), types[1], with_last(types[2], {n, n})};
}
// The columns that complete a basis are any: apart from the others they have no derivative.
Tensors svd_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  Tensors usv = ops::thin_svd(x);
  if (!attrs.get<bool>("full_matrices")) return usv;
  const auto completed = [](const Tensor& q) {
    const Tensor parts[] = {q, apply_one(op_named("complement"), {q})};
    return ops::cat(parts, q.rank() - 1);
  };
  if (linalg::rows_of(x) > linalg::columns_of(x)) usv[0] = completed(usv[0]);
  if (linalg::rows_of(x) < linalg::columns_of(x)) usv[2] = t(completed(t(usv[2])));
  return usv;
}

std::vector<TensorType> complement_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_matrices(inputs, attrs)[0];
  if (column_count(x) > row_count(x)) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("complement: {} has more columns than rows, which cannot be orthonormal", to_string(x)),
        {0});
  }
  return {with_last(x, {row_count(x), row_count(x) - column_count(x)})};
}
[[noreturn]] void refuse_complement() {
  throw OpError(
      ErrorKind::Autograd,
      "the columns that complete a basis (complement, svd with full_matrices=true) have no derivative: "
      "they are an arbitrary basis of a subspace",
      {0}, "use svd(A, full_matrices=false), which leaves them out");
}
Tensors complement_vjp(const VjpArgs&) { refuse_complement(); }
Tensors complement_jvp(const JvpArgs&) { refuse_complement(); }

// ---- eigh, eigvalsh ----
// Differentiated as in M. Giles, "Collected matrix derivative results for forward and reverse mode
// algorithmic differentiation" (2008). A is symmetric, and so is its gradient.

std::vector<TensorType> eigh_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_square(inputs, attrs)[0];
  reads_upper(attrs);
  return {real_type(with_last(x, {column_count(x)})), x};
}
std::vector<TensorType> eigvalsh_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {eigh_infer(inputs, attrs)[0]};
}
Tensors eigh_vjp(const VjpArgs& args) {
  const Tensor &values = args.outputs[0], &vectors = args.outputs[1];
  Tensor g = args.grads[1];
  if (is_complex(g.dtype())) g = g + gradient_of_phase(row(turns(ops::matmul(t(vectors), g))), vectors);
  // Only the antisymmetric part turns the vectors.
  const Tensor turn = mixing(ops::matmul(t(vectors), g)) * 0.5;
  const Tensor middle = divide_or_zero(turn, gaps(values)) + diagonal_matrix(args.grads[0]);
  return {mm(vectors, middle, t(vectors))};
}
Tensors eigh_jvp(const JvpArgs& args) {
  const Tensor &values = args.outputs[0], &vectors = args.outputs[1];
  const Tensor turned = mm(t(vectors), symmetric(args.tangents[0]), vectors);
  const Tensor turn = divide_or_zero(off_diagonal(turned), gaps(values));
  Tensor change = ops::matmul(vectors, turn);
  if (is_complex(change.dtype())) change = change - vectors * times_i(phase_of_change(change, vectors));
  return {real_part(diagonal(turned)), change};
}
Tensor vectors_of(const Tensor& x, const Attrs& attrs) {
  return apply(op_named("eigh"), std::span(&x, 1), {attrs.at("UPLO")})[1];
}
Tensors eigvalsh_vjp(const VjpArgs& args) {
  const Tensor vectors = vectors_of(args.inputs[0], args.attrs);
  return {ops::matmul(vectors * row(args.grads[0]), t(vectors))};
}
Tensors eigvalsh_jvp(const JvpArgs& args) {
  const Tensor vectors = vectors_of(args.inputs[0], args.attrs);
  return {real_part(diagonal(mm(t(vectors), symmetric(args.tangents[0]), vectors)))};
}

Op decomposition(std::string_view signature, std::string_view documentation, std::string_view example,
                 InferFn infer) {
  return {.signature = Signature::parse(signature),
          .family = kFamily,
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .batch = rules::batch_through,
          .lowering = Lowering::Library,
          .complex = ComplexRule::Computes};
}

void add_qr(OpTable& table) {
  Op row = decomposition("qr(A: tensor, mode: str[\"reduced\", \"complete\", \"r\"] = \"reduced\") -> (Q, R)",
                         "Q with orthonormal columns and upper triangular R with `Q @ R == A`, for A of m by "
                         "n and k = min(m, n): "
                         "\"reduced\" gives m by k and k by n, \"complete\" m by m and m by n, \"r\" an "
                         "empty Q and the reduced R. "
                         "Columns of Q with their rows of R are determined up to their sign.",
                         ">>> Q, R = qr(tensor([[3.0, 1.0], [4.0, 2.0]]))\n>>> allclose(Q @ R, tensor([[3.0, "
                         "1.0], [4.0, 2.0]]))\n"
                         "true",
                         qr_infer);
  row.vjp = qr_vjp;
  row.jvp = qr_jvp;
  row.batch = qr_batch;
  row.saves = saves_output(0) | saves_output(1);
  row.outputs = 2;
  row.onnx = onnx_rules::qr;
  table.add(std::move(row));
}

void add_svd(OpTable& table) {
  Op thin = decomposition(
      "thin_svd(A: tensor) -> (U, S, Vh)",
      "`svd(A, full_matrices=false)`: U of m by k, S of k and Vh of k by n, for A of m by n and k = min(m, "
      "n).",
      ">>> U, S, Vh = thin_svd(ones(3, 2))\n>>> allclose((U * S) @ Vh, ones(3, 2), atol=1e-6)\ntrue",
      thin_svd_infer);
  thin.vjp = thin_svd_vjp;
  thin.jvp = thin_svd_jvp;
  thin.saves = saves_output(0) | saves_output(1) | saves_output(2);
  thin.outputs = 3;
  thin.onnx = onnx_rules::thin_svd;
  thin.effects = kMayFail;
  table.add(std::move(thin));

  Op complement = decomposition(
      "complement(Q: tensor)",
      "Orthonormal columns that complete those of Q, of m by k, to a basis: m by m - k. Any such are given.",
      ">>> complement(tensor([[1.0], [0.0]])).abs().tolist()\n[[0.0], [1.0]]", complement_infer);
  complement.vjp = complement_vjp;
  complement.jvp = complement_jvp;
  complement.onnx = onnx_rules::complement;
  table.add(std::move(complement));

  Op values =
      decomposition("svdvals(A: tensor)", "The singular values of a matrix, largest first.",
                    ">>> svdvals(tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()\n[3.0, 2.0]", svdvals_infer);
  values.vjp = svdvals_vjp;
  values.jvp = svdvals_jvp;
  values.onnx = onnx_rules::svdvals;
  values.effects = kMayFail;
  values.saves = saves_input(0);
  table.add(std::move(values));

  Op svd = decomposition("svd(A: tensor, full_matrices: bool = true) -> (U, S, Vh)",
                         "U, S and Vh with orthonormal columns of U and rows of Vh, and S not negative and "
                         "falling, so that `U[:, "
                         ":k] * S @ Vh[:k] == A`, for A of m by n and k = min(m, n): U is m by m and Vh n by "
                         "n, or m by k and k by "
                         "n when not `full_matrices`. A column of U with its row of Vh is determined up to "
                         "its sign; derivatives "
                         "through them need distinct singular values.",
                         ">>> U, S, Vh = svd(tensor([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))\n>>> S.tolist(), "
                         "U.shape\n([3.0, 2.0], "
                         "(3, 3))",
                         svd_infer);
  svd.vjp = Rule<VjpFn>::none(kComposite);
  svd.jvp = Rule<JvpFn>::none(kComposite);
  svd.batch = Rule<BatchFn>::none(kComposite);
  svd.decompose = svd_body;
  svd.lowering = Lowering::Composite;
  svd.outputs = 3;
  svd.effects = kMayFail;
  table.add(std::move(svd));
}

void add_eigh(OpTable& table) {
  Op both = decomposition("eigh(A: tensor, UPLO: str[\"L\", \"U\"] = \"L\") -> (eigenvalues, eigenvectors)",
                          "The rising eigenvalues L of a symmetric matrix and its orthonormal eigenvectors, "
                          "the columns of V: `A @ "
                          "V == V * L`. Only the lower triangle is read, or the upper one. Eigenvectors are "
                          "determined up to their "
                          "sign; derivatives through them need distinct eigenvalues.",
                          ">>> L, V = eigh(tensor([[2.0, 0.0], [0.0, 1.0]]))\n>>> L.tolist()\n[1.0, 2.0]",
                          eigh_infer);
  both.vjp = eigh_vjp;
  both.jvp = eigh_jvp;
  both.saves = saves_output(0) | saves_output(1);
  both.outputs = 2;
  both.onnx = onnx_rules::eigh;
  both.effects = kMayFail;
  table.add(std::move(both));

  Op values =
      decomposition("eigvalsh(A: tensor, UPLO: str[\"L\", \"U\"] = \"L\")",
                    "The rising eigenvalues of a symmetric matrix, of which one triangle is read.",
                    ">>> eigvalsh(tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()\n[1.0, 2.0]", eigvalsh_infer);
  values.vjp = eigvalsh_vjp;
  values.jvp = eigvalsh_jvp;
  values.onnx = onnx_rules::eigvalsh;
  values.effects = kMayFail;
  values.saves = saves_input(0);
  table.add(std::move(values));
}

}  // namespace

void add_decompose_ops(OpTable& table) {
  add_qr(table);
  add_svd(table);
  add_eigh(table);
}

namespace ops {

Tensors qr(const Tensor& a) {
  static const Op& row = op_named("qr");
  return kiln::apply(row, std::span(&a, 1));
}
Tensors thin_svd(const Tensor& a) {
  static const Op& row = op_named("thin_svd");
  return kiln::apply(row, std::span(&a, 1));
}
Tensor svdvals(const Tensor& a) {
  static const Op& row = op_named("svdvals");
  return apply_one(row, {a});
}
Tensors eigh(const Tensor& a) {
  static const Op& row = op_named("eigh");
  return kiln::apply(row, std::span(&a, 1));
}

}  // namespace ops
}  // namespace kiln
