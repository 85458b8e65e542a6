// What is made of products and factorizations: pseudoinverses, least squares, powers, exponentials, and the
// products of Kronecker and of vectors in space.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensor/ops/linalg.h"
#include "tensor/ops/shape.h"

namespace kiln {

namespace {

using namespace linalg;
using rules::apply;
using rules::apply_one;

// ---- pinv ----
// Differentiated as in G. Golub & V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
// squares problems whose variables separate" (1973): right wherever the rank does not change, for any
// singular values.

std::vector<TensorType> pinv_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  attrs.get<bool>("hermitian") ? need_square(inputs[0], attrs) : need_matrices(inputs[0], attrs);
  need_field(inputs[0], attrs);
  Dims sizes = inputs[0].sizes;
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  return {rules::with_sizes(inputs[0], sizes)};
}

Tensors pinv_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const bool symmetric = attrs.get<bool>("hermitian");
  const Tensors factors = symmetric ? ops::eigh(x) : ops::thin_svd(x);
  const Tensor& values = factors[symmetric ? 0 : 1];
  const Tensor size = ops::abs(values);
  const Tensor kept = ops::gt(size, rank_tolerance(size, x, attrs));
  const Tensor inverse =
      ops::where(kept, 1.0 / ops::where(kept, values, ops::ones_like(values)), ops::zeros_like(values));
  const Tensor& left = symmetric ? factors[1] : t(factors[2]);
  const Tensor& right = symmetric ? factors[1] : factors[0];
  return {ops::matmul(left * row(inverse), t(right))};
}

Tensor pinv_change(const Tensor& a, const Tensor& p, const Tensor& da) {
  const Tensor da_t = t(da);
  const Tensor left = mm(p, t(p), da_t);   // p p.t() da.t()
  const Tensor right = mm(da_t, t(p), p);  // da.t() p.t() p
  return left - mm(left, a, p) + right - mm(p, a, right) - mm(p, da, p);
}
Tensors pinv_vjp(const VjpArgs& args) {
  const Tensor& a = args.inputs[0];
  const Tensor& p = args.outputs[0];
  const Tensor g_t = t(args.grads[0]);
  const Tensor left = mm(g_t, p, t(p));
  const Tensor right = mm(t(p), p, g_t);
  const Tensor grad = left - mm(a, p, left) + right - mm(right, p, a) - mm(t(p), args.grads[0], t(p));
  return {args.attrs.get<bool>("hermitian") ? symmetric(grad) : grad};
}
Tensors pinv_jvp(const JvpArgs& args) {
  const Tensor& change = args.tangents[0];
  return {pinv_change(args.inputs[0], args.outputs[0],
                      args.attrs.get<bool>("hermitian") ? symmetric(change) : change)};
}

// ---- lstsq ----

std::vector<TensorType> lstsq_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType& a = inputs[0];
  need_matrices(a, attrs);
  need_field(a, attrs);
  need_one_dtype(inputs, attrs);
  Dims b = inputs[1].sizes;
  const bool vector = is_vector_side(a.sizes, b);
  if (vector) b.push_back(1);
  const Dim m = a.sizes[a.sizes.size() - 2], n = a.sizes.back();
  if (b.size() < 2 || b[b.size() - 2] != m) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("lstsq: {} and {} do not fit: {} equations", to_string(a), to_string(inputs[1]), m),
        {0, 1});
  }
  Dims batch = broadcast(batch_sizes(a.sizes), batch_sizes(b), "lstsq");
  Dims residuals = batch;
  Dims solution = batch;
  solution.push_back(n);
  if (!vector) {
    solution.push_back(b.back());
    residuals.push_back(b.back());
  }
  Dims values = batch_sizes(a.sizes);
  const TensorType rank{DType::I64, a.device, values};
  values.push_back(min(m, n));
  const TensorType real = real_type(a);
  return {rules::with_sizes(a, solution), rules::with_sizes(real, m > n ? residuals : Dims{0}), rank,
          rules::with_sizes(real, values)};
}

Tensors lstsq_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& a = inputs[0];
  const bool vector = is_vector_side(a.sizes(), inputs[1].sizes());
  const Tensor b = vector ? column(inputs[1]) : inputs[1];
  const Attr rcond = attrs.at("rcond");
  const Tensor x = ops::matmul(apply_one(op_named("pinv"), {a}, {std::monostate{}, rcond}), b);
  const Tensor rank = apply_one(op_named("matrix_rank"), {a}, {std::monostate{}, rcond});
  const auto narrow = [&](const Tensor& y) { return vector ? ops::squeeze(y, Dims{y.rank() - 1}) : y; };
  Tensor residuals = ops::zeros(Dims{0}, real_type(a.type()).dtype, a.device());
  if (rows_of(a) > columns_of(a)) {
    const Tensor difference = b - ops::matmul(a, x);
    Tensor rest = ops::square(real_part(difference));
    if (is_complex(a.dtype())) rest = rest + ops::square(ops::imag(difference));
    residuals = narrow(ops::sum(rest, Dims{rest.rank() - 2}));
  }
  return {narrow(x), residuals, rank, ops::svdvals(a)};
}

// ---- matrix_power ----

std::vector<TensorType> matrix_power_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_square(inputs[0], attrs);
  if (attrs.get<std::int64_t>("n") < 0) need_field(inputs[0], attrs);
  if (inputs[0].dtype == DType::Bool) {
    throw OpError(ErrorKind::DType, "matrix_power: bool has no product", {0},
                  "convert it with `.to(i64)` or `.to(f32)`");
  }
  return {rules::with_dtype(inputs[0], inputs[0].dtype)};
}
Tensors matrix_power_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const auto exponent = attrs.get<std::int64_t>("n");
  const Tensor& x = inputs[0];
  if (exponent == 0) return {ops::zeros_like(x) + eye(columns_of(x), x.type())};
  Tensor square = exponent < 0 ? ops::inv(x) : x;
  Tensor power;
  for (std::uint64_t n = exponent < 0 ? -static_cast<std::uint64_t>(exponent)
                                      : static_cast<std::uint64_t>(exponent);
       ; square = ops::matmul(square, square)) {
    if ((n & 1U) != 0) power = power ? ops::matmul(power, square) : square;
    if ((n >>= 1U) == 0) break;
  }
  return {power.is_same(x) ? ops::clone(x) : power};
}

// ---- matrix_exp ----
// Scaling and squaring with the Padé approximant of degree 13 (N. Higham, "The scaling and squaring method
// for the matrix exponential revisited", 2005). Its derivative along e is the upper right block of the
// exponential of
// [[a, e], [0, a]] (R. Mathias, "A chain rule for matrix functions and applications", 1996).

// p(a) and q(a) = p(-a) of exp(a) = p / q, for a norm of at most 5.4.
Tensor pade(const Tensor& a) {
  static constexpr std::array<double, 14> kTerms = {64764752532480000.,
                                                    32382376266240000.,
                                                    7771770303897600.,
                                                    1187353796428800.,
                                                    129060195264000.,
                                                    10559470521600.,
                                                    670442572800.,
                                                    33522128640.,
                                                    1323241920.,
                                                    40840800.,
                                                    960960.,
                                                    16380.,
                                                    182.,
                                                    1.};
  const Tensor one = eye(columns_of(a), a.type());
  const Tensor a2 = ops::matmul(a, a), a4 = ops::matmul(a2, a2), a6 = ops::matmul(a2, a4);
  // The terms from `first` on, every second one.
  const auto low = [&](std::size_t first) {
    return a6 * kTerms[first + 6] + a4 * kTerms[first + 4] + a2 * kTerms[first + 2] + one * kTerms[first];
  };
  const auto high = [&](std::size_t first) {
    return ops::matmul(a6, a6 * kTerms[first + 12] + a4 * kTerms[first + 10] + a2 * kTerms[first + 8]);
  };
  const Tensor odd = ops::matmul(a, high(1) + low(1));
  const Tensor even = high(0) + low(0);
  return ops::solve(even - odd, even + odd);
}

Tensor exponential(const Tensor& a) {
  const double size = ops::amax(ops::sum(ops::abs(a), Dims{0})).item_float();
  const int halvings = size > 5.4 ? static_cast<int>(std::ceil(std::log2(size / 5.4))) : 0;
  Tensor result = pade(halvings > 0 ? a * std::ldexp(1.0, -halvings) : a);
  for (int i = 0; i < halvings; ++i) result = ops::matmul(result, result);
  return result;
}

Tensors matrix_exp_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensor& x = inputs[0];
  if (x.numel() == 0) return {ops::zeros_like(x)};
  if (!ops::all(apply_one(op_named("isfinite"), {x})).item_bool())
    return {x * std::numeric_limits<double>::quiet_NaN()};
  const Tensor flat = ops::reshape(x, Dims{-1, rows_of(x), columns_of(x)});
  std::vector<Tensor> results;
  for (Dim i = 0; i < flat.size(0); ++i) results.push_back(exponential(ops::select(flat, 0, i)));
  return {ops::reshape(ops::stack(results), x.sizes())};
}

// Likewise for a batch as a graph, with as many halvings as f64 ever needs: nan for norms above 5.4 * 2^16.
Tensors matrix_exp_steps(const Op&, Inputs inputs, const Attrs&) {
  constexpr int kMostHalvings = 16;
  const Tensor& x = inputs[0];
  const Tensor columns = ops::sum(ops::abs(x), Dims{x.rank() - 2}, true);
  const Tensor size = ops::amax(columns, Dims{x.rank() - 1}, true);
  const Tensor halvings = ops::maximum(ops::ceil(ops::log2(size / 5.4)), Tensor::number(0.0));
  Tensor result = pade(x * ops::pow(Tensor::number(2.0), -halvings));
  for (int i = 0; i < kMostHalvings; ++i) {
    const Tensor is_halved = ops::gt(halvings, Tensor::number(static_cast<double>(i)));
    result = ops::where(is_halved, ops::matmul(result, result), result);
  }
  const Tensor is_small = ops::le(halvings, Tensor::number(static_cast<double>(kMostHalvings)));
  return {ops::where(is_small, result, Tensor::number(std::numeric_limits<double>::quiet_NaN()))};
}

Tensor exponential_change(const Tensor& a, const Tensor& change) {
  static const Op& matrix_exp = op_named("matrix_exp");
  const int last = a.rank() - 1;
  const Dim n = a.size(last);
  const Tensor above[] = {a, change}, below[] = {ops::zeros_like(a), a};
  const Tensor blocks[] = {ops::cat(above, last), ops::cat(below, last)};
  const Tensor all = apply_one(matrix_exp, {ops::cat(blocks, last - 1)});
  return ops::narrow(ops::narrow(all, last - 1, 0, n), last, n, n);
}
Tensors matrix_exp_vjp(const VjpArgs& args) { return {exponential_change(t(args.inputs[0]), args.grads[0])}; }
Tensors matrix_exp_jvp(const JvpArgs& args) { return {exponential_change(args.inputs[0], args.tangents[0])}; }

// ---- kron, cross ----

std::vector<TensorType> kron_infer(std::span<const TensorType> inputs, const Attrs&) {
  const Dims &a = inputs[0].sizes, &b = inputs[1].sizes;
  Dims sizes(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= sizes.size(); ++back) {
    Dim& size = sizes[sizes.size() - back];
    if (back <= a.size()) size *= a[a.size() - back];
    if (back <= b.size()) size *= b[b.size() - back];
  }
  TensorType type = rules::with_sizes(inputs[0], sizes);
  type.dtype = promote(inputs[0].dtype, inputs[1].dtype);
  return {type};
}
Tensors kron_body(const Op&, Inputs inputs, const Attrs&) {
  const int rank = std::max(inputs[0].rank(), inputs[1].rank());
  // Each dimension of the left, then that of the right.
  Tensor a = inputs[0], b = inputs[1];
  while (a.rank() < rank) a = ops::unsqueeze(a, 0);
  while (b.rank() < rank) b = ops::unsqueeze(b, 0);
  Dims sizes;
  for (int d = 0; d < rank; ++d) sizes.push_back(a.size(d) * b.size(d));
  for (int d = 0; d < rank; ++d) {
    a = ops::unsqueeze(a, 2 * d + 1);
    b = ops::unsqueeze(b, 2 * d);
  }
  return {as_no_view(ops::reshape(a * b, sizes))};
}

std::vector<TensorType> cross_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dims &a = inputs[0].sizes, &b = inputs[1].sizes;
  const auto refuse = [&](std::string_view why) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("cross: {} and {}: {}", to_string(inputs[0]), to_string(inputs[1]), why),
                  {0, 1});
  };
  if (a.size() != b.size()) refuse("the numbers of dimensions differ");
  if (a.empty()) refuse("expects vectors");
  const auto dim = static_cast<std::size_t>(rules::dim_attr(attrs, "dim", static_cast<int>(a.size())));
  if (a[dim] != 3 || b[dim] != 3) refuse(fmt::format("dimension {} must have size 3", dim));
  TensorType type = rules::with_sizes(inputs[0], broadcast(a, b, "cross"));
  type.dtype = promote(inputs[0].dtype, inputs[1].dtype);
  if (type.dtype == DType::Bool) throw OpError(ErrorKind::DType, "cross: bool has no product", {0, 1});
  return {type};
}
Tensors cross_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const int dim = rules::dim_attr(attrs, "dim", inputs[0].rank());
  const auto rolled = [&](const Tensor& x, Dim by) {
    return apply_one(op_named("roll"), {x}, {Dims{by}, Dims{dim}});
  };
  const Tensor &a = inputs[0], &b = inputs[1];
  return {rolled(a, -1) * rolled(b, -2) - rolled(a, -2) * rolled(b, -1)};
}

}  // namespace

void add_matrix_function_ops(OpTable& table) {
  Op pinv = composite_row(
      "pinv(A: tensor, *, atol: float? = none, rtol: float? = none, hermitian: bool = false)",
      "The pseudoinverse (Moore-Penrose) of a matrix. Singular values up to `atol` and up to `rtol` times "
      "the largest "
      "count as 0; `rtol` is the precision times the larger dimension unless `atol` is given. `hermitian`: A "
      "is "
      "symmetric, which is faster.",
      ">>> pinv(tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()\n[[0.5, 0.0], [0.0, 0.0]]", pinv_infer, pinv_body,
      kMayFail);
  pinv.vjp = pinv_vjp;
  pinv.jvp = pinv_jvp;
  pinv.batch = rules::batch_through;
  pinv.saves = saves_input(0) | saves_output(0);
  table.add(std::move(pinv));

  Op lstsq = composite_row(
      "lstsq(A: tensor, B: tensor, rcond: float? = none, *, driver: str[\"gels\", \"gelsy\", \"gelsd\", "
      "\"gelss\"]? = "
      "none) -> (solution, residuals, rank, singular_values)",
      "The `X` for which `A @ X - B` has the least norm, and among those the one of least norm: (solution, "
      "residuals, "
      "rank, singular_values). The residuals, sums of squares, are empty unless A has more rows than "
      "columns. Singular "
      "values up to `rcond` times the largest count as 0. Every `driver` is the singular value "
      "decomposition.",
      ">>> lstsq(tensor([[1.0], [1.0]]), tensor([1.0, 3.0]))[0].round().tolist()\n[2.0]", lstsq_infer,
      lstsq_body, kMayFail);
  lstsq.outputs = 4;
  table.add(std::move(lstsq));

  table.add(composite_row("matrix_power(A: tensor, n: int)",
                          "The product of n copies of a square matrix, of its inverse when n is negative.",
                          ">>> matrix_power(tensor([[1, 1], [0, 1]]), 5).tolist()\n[[1, 5], [0, 1]]",
                          matrix_power_infer, matrix_power_body, kMayFail));

  Op exponential = composite_row(
      "matrix_exp(A: tensor)", "The exponential of a square matrix: its power series.",
      ">>> matrix_exp(zeros(2, 2)).tolist()\n[[1.0, 0.0], [0.0, 1.0]]", infer_square, matrix_exp_body);
  exponential.vjp = matrix_exp_vjp;
  exponential.jvp = matrix_exp_jvp;
  exponential.batch = rules::batch_through;
  exponential.saves = saves_input(0);
  exponential.lowering = Lowering::Library;
  exponential.onnx = matrix_exp_steps;
  table.add(std::move(exponential));

  table.add(composite_row(
      "kron(A: tensor, B: tensor)", "The Kronecker product: every element of A times all of B, in blocks.",
      ">>> kron(tensor([1, 2]), tensor([1, 10])).tolist()\n[1, 10, 2, 20]", kron_infer, kron_body));
  table.add(composite_row(
      "cross(x: tensor, other: tensor, dim: index = -1)",
      "The cross product of vectors of three elements along `dim`; the other dimensions broadcast.",
      ">>> cross(tensor([1, 0, 0]), tensor([0, 1, 0])).tolist()\n[0, 0, 1]", cross_infer, cross_body));
}

}  // namespace kiln
