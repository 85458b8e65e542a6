// Eigenvalues and eigenvectors of general matrices, as real and imaginary parts. With W = V^-1 and F = W dA V
// a change dA of A = V diag(l) W changes l by diag(F), and V by U = V (F / (l_j - l_i)) but for what keeps
// columns of length 1 and their largest elements positive (Boeddeker et al., "On the computation of
// complex-valued gradients", 2017).
#include "tensor/ops/linalg.h"

namespace kiln {
namespace {

using namespace linalg;

// A complex matrix, or a row of complex numbers.
struct Parts {
  Tensor re, im;
};
Parts operator+(const Parts& a, const Parts& b) { return {a.re + b.re, a.im + b.im}; }
Parts product(const Parts& a, const Parts& b) {
  return {ops::matmul(a.re, b.re) - ops::matmul(a.im, b.im),
          ops::matmul(a.re, b.im) + ops::matmul(a.im, b.re)};
}
// Element by element.
Parts scaled(const Parts& a, const Parts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Parts conjugate(const Parts& a) { return {a.re, -a.im}; }
Parts adjoint(const Parts& a) { return {t(a.re), -t(a.im)}; }
// The x with a x = b, as a system of real numbers of twice the size.
Parts solved(const Parts& a, const Parts& b) {
  const int columns = a.re.rank() - 1, rows = columns - 1;
  const Tensor above = ops::cat(Tensors{a.re, -a.im}, columns),
               below = ops::cat(Tensors{a.im, a.re}, columns);
  const Tensor x = ops::solve(ops::cat(Tensors{above, below}, rows), ops::cat(Tensors{b.re, b.im}, rows));
  const Dim n = rows_of(a.re);
  return {ops::narrow(x, rows, 0, n), ops::narrow(x, rows, n, n)};
}

// 1 / (l_j - l_i), and 0 where they are equal: nothing is known of vectors that turn into one another.
Parts inverse_gaps(const Parts& values) {
  const Tensor re = row(values.re) - column(values.re), im = row(values.im) - column(values.im);
  const Tensor square = re * re + im * im;
  const Tensor equal = ops::eq(square, Tensor::number(0.0));
  const Tensor held = ops::masked_fill(square, equal, Tensor::number(1.0));
  return {ops::masked_fill(re / held, equal, Tensor::number(0.0)),
          ops::masked_fill(-im / held, equal, Tensor::number(0.0))};
}

Tensor column_sums(const Tensor& x) { return ops::sum(x, Dims{x.rank() - 2}, true); }

// 1 at the largest element of each column, which is real, over that element; else 0.
Tensor pivots_of(const Parts& vectors) {
  const Tensor size = vectors.re * vectors.re + vectors.im * vectors.im;
  const Tensor real = ops::where(ops::eq(vectors.im, Tensor::number(0.0)), size, Tensor::number(-1.0));
  const int rows = size.rank() - 2;
  const Tensor most = ops::amax(real, Dims{rows}, true);
  // Where two are as large the first one counts.
  const Tensor is_most = ops::to(ops::eq(real, most), vectors.re.dtype());
  const Tensor before = ops::cumsum(is_most, rows);
  const Tensor is_first = ops::logical_and(ops::eq(real, most), ops::eq(before, Tensor::number(1.0)));
  const Tensor held = ops::where(is_first, vectors.re, Tensor::number(1.0));
  return ops::where(is_first, 1.0 / held, Tensor::number(0.0));
}

// A change of the vectors without what changes their lengths and phases.
Parts settled(const Parts& u, const Parts& vectors) {
  const Tensor length = column_sums(vectors.re * u.re + vectors.im * u.im);
  const Tensor phase = column_sums(pivots_of(vectors) * u.im);
  return {u.re - vectors.re * length + vectors.im * phase, u.im - vectors.im * length - vectors.re * phase};
}
// The adjoint of that.
Parts settled_back(const Parts& g, const Parts& vectors) {
  const Tensor length = column_sums(vectors.re * g.re + vectors.im * g.im);
  const Tensor phase = column_sums(g.re * vectors.im - g.im * vectors.re);
  return {g.re - vectors.re * length, g.im - vectors.im * length + pivots_of(vectors) * phase};
}

std::vector<TensorType> values_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_square(inputs, attrs)[0];
  const TensorType values = rules::with_sizes(x, Dims(x.sizes.begin(), x.sizes.end() - 1));
  return {values, values};
}
std::vector<TensorType> eig_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_square(inputs, attrs)[0];
  const TensorType values = values_infer(inputs, attrs)[0];
  return {values, values, x, x};
}

// The gradient of A, whose change is real, from that of F: W' F V'.
Tensor from_turned(const Parts& turned, const Parts& vectors) {
  const Parts back = adjoint(vectors);
  return solved(back, product(turned, back)).re;
}
Parts on_diagonal(const Tensor& re, const Tensor& im) { return {diagonal_matrix(re), diagonal_matrix(im)}; }

Tensors eig_vjp(const VjpArgs& args) {
  const Parts values{args.outputs[0], args.outputs[1]}, vectors{args.outputs[2], args.outputs[3]};
  const Parts g = settled_back({args.grads[2], args.grads[3]}, vectors);
  const Parts turned = scaled(conjugate(inverse_gaps(values)), product(adjoint(vectors), g));
  return {from_turned(turned + on_diagonal(args.grads[0], args.grads[1]), vectors)};
}
Tensors eig_jvp(const JvpArgs& args) {
  const Parts values{args.outputs[0], args.outputs[1]}, vectors{args.outputs[2], args.outputs[3]};
  const Tensor& change = args.tangents[0];
  const Parts moved{ops::matmul(change, vectors.re), ops::matmul(change, vectors.im)};
  const Parts turned = solved(vectors, moved);
  const Parts u = settled(product(vectors, scaled(turned, inverse_gaps(values))), vectors);
  return {diagonal(turned.re), diagonal(turned.im), u.re, u.im};
}

Parts vectors_of(const Tensor& x) {
  static const Op& both = OpTable::get().at("eig_parts");
  const Tensors found = rules::apply(both, std::span(&x, 1));
  return {found[2], found[3]};
}
Tensors values_vjp(const VjpArgs& args) {
  return {from_turned(on_diagonal(args.grads[0], args.grads[1]), vectors_of(args.inputs[0]))};
}
Tensors values_jvp(const JvpArgs& args) {
  const Parts vectors = vectors_of(args.inputs[0]);
  const Tensor& change = args.tangents[0];
  const Parts turned = solved(vectors, {ops::matmul(change, vectors.re), ops::matmul(change, vectors.im)});
  return {diagonal(turned.re), diagonal(turned.im)};
}

}  // namespace

void add_eig_ops(OpTable& table) {
  table.add(
      {.signature =
           Signature::parse("eig_parts(A: tensor) -> (values_real, values_imag, vectors_real, vectors_imag)"),
       .family = kFamily,
       .documentation =
           "The real and imaginary parts of the eigenvalues of square matrices, in any order, and of their "
           "eigenvectors, the columns of V, of length 1 with a positive largest element: what `eig` consists "
           "of. "
           "Derivatives through vectors need distinct eigenvalues.",
       .example = ">>> eig_parts(tensor([[0.0, -1.0], [1.0, 0.0]])).values_imag.abs().tolist()\n[1.0, 1.0]",
       .infer = eig_infer,
       .vjp = eig_vjp,
       .jvp = eig_jvp,
       .batch = rules::batch_through,
       .saves = saves_output(0) | saves_output(1) | saves_output(2) | saves_output(3),
       .lowering = Lowering::Library,
       .effects = kMayFail,
       .outputs = 4,
       .onnx = OnnxRule::none("it takes as many steps as elements ask for")});
  table.add(
      {.signature = Signature::parse("eigvals_parts(A: tensor) -> (values_real, values_imag)"),
       .family = kFamily,
       .documentation =
           "The real and imaginary parts of the eigenvalues of square matrices, in any order: what "
           "`eigvals` consists of.",
       .example = ">>> eigvals_parts(tensor([[0.0, -1.0], [1.0, 0.0]])).values_real.tolist()\n[0.0, 0.0]",
       .infer = values_infer,
       .vjp = values_vjp,
       .jvp = values_jvp,
       .batch = rules::batch_through,
       .saves = saves_input(0),
       .lowering = Lowering::Library,
       .effects = kMayFail,
       .outputs = 2,
       .onnx = OnnxRule::none("it takes as many steps as elements ask for")});
}

}  // namespace kiln
