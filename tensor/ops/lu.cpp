// LU factorizations with partial pivoting, of matrices of any sizes, and systems solved by them. With k =
// min(m, n) the matrix is p l u: l has k columns and ones on its diagonal, u has k rows, and both lie in one
// matrix of m by n. Derivatives of square ones are those of S. F. Walter, L. Lehmann, "Algorithmic
// differentiation of linear algebra functions" (2010); rows below them and columns beside them follow from l
// u.
#include <fmt/format.h>

#include "tensor/how_many.h"
#include "tensor/ops/linalg.h"

namespace kiln {
namespace {

using namespace linalg;
using rules::apply_one;

Tensor rows(const Tensor& x, Dim first, Dim count) { return ops::narrow(x, x.rank() - 2, first, count); }
Tensor columns(const Tensor& x, Dim first, Dim count) { return ops::narrow(x, x.rank() - 1, first, count); }
Tensor below(const Tensor& x) { return ops::tril(x, -1); }

Tensor permutation_of(const Tensor& pivots, Dim count, bool inverse) {
  static const Op& row = OpTable::get().at("lu_permutation");
  return apply_one(row, {pivots}, {count, inverse});
}
// The rows of x in another order: row i of the result is row order[i].
Tensor reordered(const Tensor& x, const Tensor& order) {
  return ops::gather(x, x.rank() - 2, ops::expand(column(order), x.sizes()));
}

// The factors that lie in one matrix, and what is beside their square part.
struct Packed {
  Dim m, n, k;
  Tensor lower, upper;  // k by k, the lower one without its ones
  Tensor tail;          // of l below, or of u beside; absent of a square matrix

  explicit Packed(const Tensor& x)
      : m(rows_of(x)),
        n(columns_of(x)),
        k(std::min(m, n)),
        lower(below(square(x))),
        upper(ops::triu(square(x))) {
    if (m > k) tail = rows(x, k, m - k);
    if (n > k) tail = columns(x, k, n - k);
  }
  Tensor square(const Tensor& x) const { return columns(rows(x, 0, k), 0, k); }
  Tensor whole_lower() const { return lower + eye(k, lower.type()); }
  // Those with l y = x, l' y = x, y u = x, y u' = x.
  Tensor by_lower(const Tensor& x) const { return ops::solve_triangular(lower, x, false, true, true); }
  Tensor by_lower_turned(const Tensor& x) const {
    return ops::solve_triangular(t(lower), x, true, true, true);
  }
  Tensor by_upper(const Tensor& x) const { return ops::solve_triangular(upper, x, true, false); }
  Tensor by_upper_turned(const Tensor& x) const { return ops::solve_triangular(t(upper), x, false, false); }
};

std::vector<TensorType> factor_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_matrices(inputs[0], attrs);
  need_field(inputs[0], attrs);
  Dims pivots = batch_sizes(inputs[0].sizes);
  pivots.push_back(std::min(*(inputs[0].sizes.end() - 2), inputs[0].sizes.back()));
  TensorType whole = inputs[0];
  return {whole, {DType::I32, whole.device, pivots}};
}

Tensors factor_vjp(const VjpArgs& args) {
  const Tensor &packed = args.outputs[0], &g = args.grads[0];
  const Packed x(packed);
  Tensor lower = below(x.square(g)), upper = ops::triu(x.square(g)), tail;
  if (x.m > x.k) {
    tail = x.by_upper_turned(rows(g, x.k, x.m - x.k));
    upper = upper - ops::triu(ops::matmul(t(x.tail), tail));
  } else if (x.n > x.k) {
    tail = x.by_lower_turned(columns(g, x.k, x.n - x.k));
    lower = lower - below(ops::matmul(tail, t(x.tail)));
  }
  const Tensor middle =
      below(ops::matmul(t(x.whole_lower()), lower)) + ops::triu(ops::matmul(upper, t(x.upper)));
  Tensor result = x.by_upper_turned(x.by_lower_turned(middle));
  if (tail) result = ops::cat(Tensors{result, tail}, result.rank() - (x.m > x.k ? 2 : 1));
  return {reordered(result, permutation_of(args.outputs[1], x.m, true))};
}

Tensors factor_jvp(const JvpArgs& args) {
  const Packed x(args.outputs[0]);
  const Tensor change = reordered(args.tangents[0], permutation_of(args.outputs[1], x.m, false));
  const Tensor middle = x.by_upper(x.by_lower(x.square(change)));
  const Tensor lower = ops::matmul(x.whole_lower(), below(middle));
  const Tensor upper = ops::matmul(ops::triu(middle), x.upper);
  Tensor result = lower + upper;
  if (x.m > x.k) {
    const Tensor rest = rows(change, x.k, x.m - x.k) - ops::matmul(x.tail, upper);
    result = ops::cat(Tensors{result, x.by_upper(rest)}, result.rank() - 2);
  } else if (x.n > x.k) {
    const Tensor rest = columns(change, x.k, x.n - x.k) - ops::matmul(lower, x.tail);
    result = ops::cat(Tensors{result, x.by_lower(rest)}, result.rank() - 1);
  }
  return {result, Tensor()};
}

// ---- The permutation ----

std::vector<TensorType> permutation_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType& x = inputs[0];
  if (!is_integer(x.dtype) || x.sizes.empty()) {
    throw OpError(
        ErrorKind::DType,
        fmt::format("{}: expects the pivots that lu_factor gives, got {}", attrs.op()->name(), to_string(x)),
        {0});
  }
  const Dim count = attrs.get<Dim>("rows");
  if (count < x.sizes.back()) {
    throw OpError(ErrorKind::Value,
                  fmt::format("{}: {} pivots are too many for {}", attrs.op()->name(), x.sizes.back(),
                              how_many(count, "row")),
                  {0});
  }
  Dims sizes = x.sizes;
  sizes.back() = count;
  return {{DType::I64, x.device, sizes}};
}

// ---- P, L and U; systems ----

std::vector<TensorType> lu_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const TensorType x = factor_infer(inputs, attrs)[0];
  const Dim m = *(x.sizes.end() - 2), n = x.sizes.back(), k = std::min(m, n);
  const auto of = [&](Dim height, Dim width) {
    Dims sizes = batch_sizes(x.sizes);
    sizes.push_back(height);
    sizes.push_back(width);
    return rules::with_sizes(x, sizes);
  };
  return {of(m, m), of(m, k), of(k, n)};
}
Tensors lu_body(const Op&, Inputs inputs, const Attrs&) {
  static const Op& factor = OpTable::get().at("lu_factor");
  const Tensors found = rules::apply(factor, inputs);
  const Tensor& packed = found[0];
  const Dim m = rows_of(packed), n = columns_of(packed), k = std::min(m, n);
  const Tensor order = permutation_of(found[1], m, false);
  const Tensor places = ops::unsqueeze(ops::arange(0, m, 1, DType::I64, packed.device()), 1);
  const Tensor p = ops::to(ops::eq(places, row(order)), packed.dtype());
  Tensor ones = eye(k, packed.type());
  if (m > k) ones = ops::cat(Tensors{ones, ops::zeros(Dims{m - k, k}, packed.dtype(), packed.device())}, 0);
  return {p, below(columns(packed, 0, k)) + ones, ops::triu(rows(packed, 0, k))};
}

std::vector<TensorType> solve_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_square(inputs[0], attrs, 0);
  need_field(inputs[0], attrs, 0);
  need_matrices(inputs[2], attrs, 2);
  if (inputs[0].dtype != inputs[2].dtype) {
    throw OpError(ErrorKind::DType,
                  fmt::format("lu_solve: the factors are {} and the right-hand side {}", to_string(inputs[0]),
                              to_string(inputs[2])),
                  {0, 2}, "convert one of them");
  }
  const Dim n = inputs[0].sizes.back();
  const Dims& b = inputs[2].sizes;
  if (b[b.size() - (attrs.get<bool>("left") ? 2 : 1)] != n || inputs[1].sizes.empty() ||
      inputs[1].sizes.back() != n || !is_integer(inputs[1].dtype)) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("lu_solve: factors {} with pivots {} do not fit the right-hand side {}",
                              to_string(inputs[0]), to_string(inputs[1]), to_string(inputs[2])),
                  {0, 1, 2}, "factors and pivots are those of `lu_factor`; a vector is `b.unsqueeze(-1)`");
  }
  Dims sizes = broadcast(batch_sizes(inputs[0].sizes), batch_sizes(b), "lu_solve");
  sizes.append(b.end() - 2, b.end());
  return {rules::with_sizes(inputs[2], sizes)};
}
// p l u x = b, or x p l u = b, which is b u^-1 l^-1 p'.
Tensors solve_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor &packed = inputs[0], &b = inputs[2];
  const Dim n = columns_of(packed);
  Dims sizes = broadcast(batch_sizes(packed.sizes()), batch_sizes(b.sizes()), "lu_solve");
  Dims orders = sizes;
  orders.push_back(n);
  sizes.append(b.sizes().end() - 2, b.sizes().end());
  const Tensor sides = ops::expand(b, sizes);
  const bool left = attrs.get<bool>("left");
  const Tensor order = ops::expand(permutation_of(inputs[1], n, !left), orders);
  if (left) {
    const Tensor y = ops::solve_triangular(packed, reordered(sides, order), false, true, true);
    return {ops::solve_triangular(packed, y, true)};
  }
  const Tensor y = ops::solve_triangular(packed, sides, true, false);
  const Tensor x = ops::solve_triangular(packed, y, false, false, true);
  return {t(reordered(t(x), order))};
}

}  // namespace

void add_lu_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("lu_factor(A: tensor) -> (LU, pivots)"),
       .family = kFamily,
       .documentation =
           "The LU factorization of matrices of m by n with partial pivoting, in one matrix: U with its "
           "diagonal, and below it L, whose diagonal is ones. Row i was swapped with row `pivots[i]`, "
           "counted "
           "from 1, one after the other. A zero on the diagonal of U is left to those who solve with it.",
       .example = ">>> LU, pivots = lu_factor(tensor([[1.0, 2.0], [2.0, 8.0]]))\n>>> LU.tolist(), "
                  "pivots.tolist()\n([[2.0, 8.0], [0.5, -2.0]], [2, 2])",
       .infer = factor_infer,
       .vjp = factor_vjp,
       .jvp = factor_jvp,
       .batch = rules::batch_through,
       .saves = saves_output(0) | saves_output(1),
       .lowering = Lowering::Library,
       .outputs = 2,
       .onnx = OnnxRule::none("which rows are swapped depends on elements"),
       .complex = ComplexRule::Computes});
  table.add(
      {.signature = Signature::parse("lu_permutation(pivots: tensor, rows: int, inverse: bool = false)"),
       .family = kFamily,
       .documentation =
           "Which of so many rows of A is where after the swaps that the pivots of `lu_factor` are; "
           "or, with `inverse`, where each went.",
       .example = ">>> lu_permutation(tensor([3, 2, 3], dtype=i32), 3).tolist()\n[2, 1, 0]",
       .infer = permutation_infer,
       .vjp = Rule<VjpFn>::none("the result is not a float"),
       .jvp = Rule<JvpFn>::none("the result is not a float"),
       .batch = rules::batch_through,
       .lowering = Lowering::Library,
       .effects = kMayFail,
       .onnx = OnnxRule::none("one swap follows from the other")});
  Op factors = composite_row(
      "lu(A: tensor) -> (P, L, U)",
      "The LU factorization of matrices with partial pivoting: a permutation P, L with ones on "
      "its diagonal and upper triangular U, with `P @ L @ U == A`. L is m by k and U k by n, for "
      "A of m by n and k = min(m, n).",
      ">>> P, L, U = lu(tensor([[1.0, 2.0], [2.0, 8.0]]))\n>>> P.tolist(), L.tolist(), "
      "U.tolist()\n([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 8.0], [0.0, -2.0]])",
      lu_infer, lu_body);
  factors.outputs = 3;
  table.add(std::move(factors));
  Op solve = composite_row(
      "lu_solve(LU: tensor, pivots: tensor, B: tensor, *, left: bool = true)",
      "The `X` with `A @ X == B`, or `X @ A == B` when not `left`, for the A whose factors `lu_factor` gave. "
      "Batches "
      "broadcast. A zero on the diagonal of U divides by zero.",
      ">>> LU, pivots = lu_factor(tensor([[1.0, 2.0], [2.0, 8.0]]))\n>>> lu_solve(LU, pivots, tensor([[3.0], "
      "[10.0]])).tolist()\n[[1.0], [1.0]]",
      solve_infer, solve_body, kMayFail);
  solve.complex.beside = 1U << 1;  // the pivots
  table.add(std::move(solve));
}

}  // namespace kiln
