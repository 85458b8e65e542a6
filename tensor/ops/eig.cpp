// Eigenvalues and eigenvectors of general matrices, as real and imaginary parts. With W = V^-1 and F = W dA V
// a change dA of A = V diag(l) W changes l by diag(F), and V by U = V (F / (l_j - l_i)) but for what keeps
// columns of length 1 and their largest elements positive (Boeddeker et al., "On the computation of
// complex-valued gradients", 2017).
#include "tensor/ops/linalg.h"

namespace kiln {
namespace {

using namespace linalg;

// A complex matrix, or a row of complex numbers.
struct EigenMatrix {
  Tensor re, im;
};
EigenMatrix operator+(const EigenMatrix& a, const EigenMatrix& b) { return {a.re + b.re, a.im + b.im}; }
EigenMatrix product(const EigenMatrix& a, const EigenMatrix& b) {
  return {ops::matmul(a.re, b.re) - ops::matmul(a.im, b.im),
          ops::matmul(a.re, b.im) + ops::matmul(a.im, b.re)};
}
// Element by element.
EigenMatrix scaled(const EigenMatrix& a, const EigenMatrix& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Of a matrix that may be real.
EigenMatrix product_of(const Tensor& a, const EigenMatrix& b) {
  if (!is_complex(a.dtype())) return {ops::matmul(a, b.re), ops::matmul(a, b.im)};
  return product({ops::real(a), ops::imag(a)}, b);
}
EigenMatrix conjugate(const EigenMatrix& a) { return {a.re, -a.im}; }
EigenMatrix adjoint(const EigenMatrix& a) { return {t(a.re), -t(a.im)}; }
// The x with a x = b, as a system of real numbers of twice the size.
EigenMatrix solved(const EigenMatrix& a, const EigenMatrix& b) {
  const int columns = a.re.rank() - 1, rows = columns - 1;
  const Tensor above = ops::cat(Tensors{a.re, -a.im}, columns),
               below = ops::cat(Tensors{a.im, a.re}, columns);
  const Tensor x = ops::solve(ops::cat(Tensors{above, below}, rows), ops::cat(Tensors{b.re, b.im}, rows));
  const Dim n = rows_of(a.re);
  return {ops::narrow(x, rows, 0, n), ops::narrow(x, rows, n, n)};
}

// 1 / (l_j - l_i), and 0 where they are equal: nothing is known of vectors that turn into one another.
EigenMatrix inverse_gaps(const EigenMatrix& values) {
  const Tensor re = row(values.re) - column(values.re), im = row(values.im) - column(values.im);
  const Tensor square = re * re + im * im;
  const Tensor equal = ops::eq(square, Tensor::number(0.0));
  const Tensor held = ops::masked_fill(square, equal, Tensor::number(1.0));
  return {ops::masked_fill(re / held, equal, Tensor::number(0.0)),
          ops::masked_fill(-im / held, equal, Tensor::number(0.0))};
}

// A change of the vectors without what changes their lengths and phases.
EigenMatrix settled(const EigenMatrix& u, const EigenMatrix& vectors) {
  const Tensor length = column_sums(vectors.re * u.re + vectors.im * u.im);
  const Tensor phase = column_sums(pivots_of(vectors.re, vectors.im) * u.im);
  return {u.re - vectors.re * length + vectors.im * phase, u.im - vectors.im * length - vectors.re * phase};
}
// The adjoint of that.
EigenMatrix settled_back(const EigenMatrix& g, const EigenMatrix& vectors) {
  const Tensor length = column_sums(vectors.re * g.re + vectors.im * g.im);
  const Tensor phase = column_sums(g.re * vectors.im - g.im * vectors.re);
  return {g.re - vectors.re * length, g.im - vectors.im * length + pivots_of(vectors.re, vectors.im) * phase};
}

std::vector<TensorType> values_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = infer_square(inputs, attrs)[0];
  const TensorType values = rules::with_sizes(real_type(x), Dims(x.sizes.begin(), x.sizes.end() - 1));
  return {values, values};
}
std::vector<TensorType> eig_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = real_type(infer_square(inputs, attrs)[0]);
  const TensorType values = values_infer(inputs, attrs)[0];
  return {values, values, x, x};
}

// The gradient of A from that of F: W' F V', of which the real part counts where the change is real.
Tensor from_turned(const EigenMatrix& turned, const EigenMatrix& vectors, DType dtype) {
  const EigenMatrix back = adjoint(vectors);
  const EigenMatrix found = solved(back, product(turned, back));
  return is_complex(dtype) ? ops::complex(found.re, found.im) : found.re;
}
EigenMatrix on_diagonal(const Tensor& re, const Tensor& im) {
  return {diagonal_matrix(re), diagonal_matrix(im)};
}

Tensors eig_vjp(const VjpArgs& args) {
  const EigenMatrix values{args.outputs[0], args.outputs[1]}, vectors{args.outputs[2], args.outputs[3]};
  const EigenMatrix g = settled_back({args.grads[2], args.grads[3]}, vectors);
  const EigenMatrix turned = scaled(conjugate(inverse_gaps(values)), product(adjoint(vectors), g));
  return {
      from_turned(turned + on_diagonal(args.grads[0], args.grads[1]), vectors, args.input_types[0].dtype)};
}
Tensors eig_jvp(const JvpArgs& args) {
  const EigenMatrix values{args.outputs[0], args.outputs[1]}, vectors{args.outputs[2], args.outputs[3]};
  const EigenMatrix turned = solved(vectors, product_of(args.tangents[0], vectors));
  const EigenMatrix u = settled(product(vectors, scaled(turned, inverse_gaps(values))), vectors);
  return {diagonal(turned.re), diagonal(turned.im), u.re, u.im};
}

EigenMatrix vectors_of(const Tensor& x) {
  static const Op& both = OpTable::get().at("eig_parts");
  const Tensors found = rules::apply(both, std::span(&x, 1));
  return {found[2], found[3]};
}
Tensors values_vjp(const VjpArgs& args) {
  return {from_turned(on_diagonal(args.grads[0], args.grads[1]), vectors_of(args.inputs[0]),
                      args.input_types[0].dtype)};
}
Tensors values_jvp(const JvpArgs& args) {
  const EigenMatrix vectors = vectors_of(args.inputs[0]);
  const EigenMatrix turned = solved(vectors, product_of(args.tangents[0], vectors));
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
       .onnx = OnnxRule::none("it takes as many steps as elements ask for"),
       .complex = ComplexRule::Computes});
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
       .onnx = OnnxRule::none("it takes as many steps as elements ask for"),
       .complex = ComplexRule::Computes});
}

}  // namespace kiln
