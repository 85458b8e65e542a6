// Inverses, linear systems and Cholesky factors.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/linalg.h"

namespace kiln {

namespace {

using namespace linalg;
using rules::apply_one;

// ---- inv: the derivative of x = inv(a) is -x da x ----

Tensors inv_vjp(const VjpArgs& args) {
  const Tensor x = t(args.outputs[0]);
  return {-mm(x, args.grads[0], x)};
}
Tensors inv_jvp(const JvpArgs& args) {
  const Tensor& x = args.outputs[0];
  return {-mm(x, args.tangents[0], x)};
}

// ---- solve ----

[[noreturn]] void refuse(std::span<const TensorType> inputs, const Attrs& attrs, const std::string& why,
                         std::string help = {}) {
  throw OpError(ErrorKind::Shape,
                fmt::format("{}: {} and {} do not fit: {}", attrs.op()->name(), to_string(inputs[0]),
                            to_string(inputs[1]), why),
                {0, 1}, std::move(help));
}

// The sizes of the solution for right-hand sides of sizes `b`, matrices.
Dims solution_sizes(std::span<const TensorType> inputs, const Dims& b, bool left, const Attrs& attrs) {
  const Dims& a = inputs[0].sizes;
  const Dim n = a.back();
  const Dim meets = b[b.size() - (left ? 2 : 1)];
  if (meets != n) {
    refuse(inputs, attrs,
           fmt::format("{} equations, {} {} of the right-hand side", n, meets, left ? "rows" : "columns"),
           b[b.size() - (left ? 1 : 2)] == n ? "transpose the right-hand side with `transpose(-2, -1)`" : "");
  }
  Dims sizes;
  try {
    sizes = broadcast(batch_sizes(a), batch_sizes(b), attrs.op()->name());
  } catch (const OpError&) {
    refuse(inputs, attrs,
           fmt::format("batch sizes {} and {} do not broadcast", to_string(batch_sizes(a)),
                       to_string(batch_sizes(b))));
  }
  sizes.append(b.end() - 2, b.end());
  return sizes;
}

std::vector<TensorType> solve_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_square(inputs[0], attrs);
  need_field(inputs[0], attrs);
  need_one_dtype(inputs, attrs);
  const bool left = attrs.get<bool>("left");
  Dims b = inputs[1].sizes;
  if (b.empty())
    refuse(inputs, attrs, "the right-hand side is a number", "`B.reshape(-1)` makes it a vector");
  const bool vector = is_vector_side(inputs[0].sizes, b);
  if (vector && !left) {
    refuse(inputs, attrs, "x A = b for a vector b is not supported", "solve with `A.transpose(-2, -1)`");
  }
  if (vector) b.push_back(1);
  Dims sizes = solution_sizes(inputs, b, left, attrs);
  if (vector) sizes.pop_back();
  return {rules::with_sizes(inputs[1], sizes)};
}

// The sides as matrices.
Tensor as_sides(const Tensor& b, bool vector) { return vector ? column(b) : b; }
Tensor from_sides(const Tensor& x, bool vector) { return vector ? ops::squeeze(x, Dims{x.rank() - 1}) : x; }

// With h = solve(a.t(), g): the gradient of b is h, that of a is -h x.t().
Tensors solve_vjp(const VjpArgs& args) {
  const Dims& a_sizes = args.input_types[0].sizes;
  const Dims& b_sizes = args.input_types[1].sizes;
  const bool left = args.attrs.get<bool>("left");
  const bool vector = is_vector_side(a_sizes, b_sizes);
  const Tensor h = ops::solve(t(args.inputs[0]), as_sides(args.grads[0], vector), left);
  Tensors result(2);
  if (args.needs[0]) {
    const Tensor x = t(as_sides(args.outputs[0], vector));
    result[0] = ops::sum_to(-(left ? ops::matmul(h, x) : ops::matmul(x, h)), a_sizes);
  }
  if (args.needs[1]) result[1] = ops::sum_to(from_sides(h, vector), b_sizes);
  return result;
}

Tensors solve_jvp(const JvpArgs& args) {
  const bool left = args.attrs.get<bool>("left");
  const bool vector = is_vector_side(args.inputs[0].sizes(), args.inputs[1].sizes());
  Tensor change;
  if (args.tangents[0]) {
    const Tensor x = as_sides(args.outputs[0], vector);
    change = -(left ? ops::matmul(args.tangents[0], x) : ops::matmul(x, args.tangents[0]));
  }
  if (args.tangents[1]) {
    const Tensor side = as_sides(args.tangents[1], vector);
    change = change ? change + side : side;
  }
  // A side with fewer dimensions than the matrices could be taken for vectors.
  if (change.rank() < args.inputs[0].rank())
    change = ops::expand(change, as_sides(args.outputs[0], vector).sizes());
  return {from_sides(ops::solve(args.inputs[0], change, left), vector)};
}

Tensors solve_batch(const BatchArgs& args) {
  const auto sizes_of = [&](std::size_t i) {
    const Dims& sizes = args.inputs[i].sizes();
    return Dims(sizes.begin() + (args.batched[i] ? 1 : 0), sizes.end());
  };
  const bool vector = is_vector_side(sizes_of(0), sizes_of(1));
  const Tensor inputs[] = {args.inputs[0], as_sides(args.inputs[1], vector)};
  Tensors both = broadcast_batched({args.op, args.attrs, inputs, args.batched, args.batch_size});
  if (both[1].rank() < both[0].rank()) {  // else it could be taken for vectors
    Dims sizes(static_cast<std::size_t>(both[0].rank() - both[1].rank()), 1);
    sizes.append(both[1].sizes().begin(), both[1].sizes().end());
    both[1] = ops::reshape(both[1], sizes);
  }
  return {from_sides(kiln::bind(args.op, both, args.attrs)[0], vector)};
}

// ---- solve_triangular ----

std::vector<TensorType> solve_triangular_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  need_square(inputs[0], attrs);
  need_matrices(inputs[1], attrs, 1);
  need_field(inputs[0], attrs);
  need_one_dtype(inputs, attrs);
  return {
      rules::with_sizes(inputs[1], solution_sizes(inputs, inputs[1].sizes, attrs.get<bool>("left"), attrs))};
}

// The part of x that the op reads.
Tensor triangle_read(const Tensor& x, const Attrs& attrs) {
  const Dim offset = attrs.get<bool>("unitriangular") ? 1 : 0;
  return attrs.get<bool>("upper") ? ops::triu(x, offset) : ops::tril(x, -offset);
}

Tensors solve_triangular_vjp(const VjpArgs& args) {
  const bool left = args.attrs.get<bool>("left");
  const Tensor h = ops::solve_triangular(t(args.inputs[0]), args.grads[0], !args.attrs.get<bool>("upper"),
                                         left, args.attrs.get<bool>("unitriangular"));
  Tensors result(2);
  if (args.needs[0]) {
    const Tensor x = t(args.outputs[0]);
    const Tensor grad = -(left ? ops::matmul(h, x) : ops::matmul(x, h));
    result[0] = ops::sum_to(triangle_read(grad, args.attrs), args.input_types[0].sizes);
  }
  if (args.needs[1]) result[1] = ops::sum_to(h, args.input_types[1].sizes);
  return result;
}

Tensors solve_triangular_jvp(const JvpArgs& args) {
  const bool left = args.attrs.get<bool>("left");
  Tensor change = args.tangents[1];
  if (args.tangents[0]) {
    const Tensor da = triangle_read(args.tangents[0], args.attrs);
    const Tensor product = -(left ? ops::matmul(da, args.outputs[0]) : ops::matmul(args.outputs[0], da));
    change = change ? change + product : product;
  }
  return {ops::solve_triangular(args.inputs[0], change, args.attrs.get<bool>("upper"), left,
                                args.attrs.get<bool>("unitriangular"))};
}

Tensors broadcast_batch(const BatchArgs& args) {
  return kiln::bind(args.op, broadcast_batched(args), args.attrs);
}

// ---- cholesky ----
// Differentiated as in I. Murray, "Differentiation of the Cholesky decomposition" (2016). A is symmetric, and
// so is its gradient.

Tensors cholesky_vjp(const VjpArgs& args) {
  const bool upper = args.attrs.get<bool>("upper");
  const Tensor l = upper ? t(args.outputs[0]) : args.outputs[0];
  const Tensor g = upper ? t(args.grads[0]) : args.grads[0];
  const Tensor middle = lower_half(ops::matmul(t(l), g));
  const Tensor left = ops::solve_triangular(t(l), middle, true);
  return {symmetric(ops::solve_triangular(l, left, false, false))};
}

Tensors cholesky_jvp(const JvpArgs& args) {
  const bool upper = args.attrs.get<bool>("upper");
  const Tensor l = upper ? t(args.outputs[0]) : args.outputs[0];
  const Tensor left = ops::solve_triangular(l, symmetric(args.tangents[0]), false);
  const Tensor middle = ops::solve_triangular(t(l), left, true, false);
  const Tensor change = ops::matmul(l, lower_half(middle));
  return {upper ? t(change) : change};
}

}  // namespace

void add_solve_ops(OpTable& table) {
  table.add({.signature = Signature::parse("inv(A: tensor)"),
             .family = kFamily,
             .documentation =
                 "The inverse of a square matrix, or of each of a batch. A singular matrix is an "
                 "error; `solve` is faster and more accurate than a product with the inverse.",
             .example = ">>> inv(tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()\n[[0.5, 0.0], [0.0, 0.25]]",
             .infer = infer_square,
             .vjp = inv_vjp,
             .jvp = inv_jvp,
             .batch = rules::batch_through,
             .saves = saves_output(0),
             .lowering = Lowering::Library,
             .effects = kMayFail,
             .onnx = onnx_rules::inv,
             .complex = ComplexRule::Computes});
  table.add(
      {.signature = Signature::parse("solve(A: tensor, B: tensor, *, left: bool = true)"),
       .family = kFamily,
       .documentation =
           "The `X` with `A @ X == B`, or `X @ A == B` when not `left`, for square matrices `A`. `B` is "
           "one vector, a vector for each matrix of `A`, or matrices; batches broadcast.",
       .example = ">>> solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([1.0, 2.0])).tolist()\n[0.5, 0.5]",
       .infer = solve_infer,
       .vjp = solve_vjp,
       .jvp = solve_jvp,
       .batch = solve_batch,
       .saves = saves_input(0) | saves_output(0),
       .saves_by_input = {saves_input(0) | saves_output(0), saves_input(0)},
       .lowering = Lowering::Library,
       .effects = kMayFail,
       .onnx = onnx_rules::solve,
       .complex = ComplexRule::Computes});
  table.add(
      {.signature = Signature::parse("solve_triangular(A: tensor, B: tensor, *, upper: bool, left: bool "
                                     "= true, unitriangular: bool = false)"),
       .family = kFamily,
       .documentation =
           "The `X` with `A @ X == B`, or `X @ A == B` when not `left`, for triangular matrices `A`, of "
           "which only the triangle named is read, without its diagonal when that is all ones "
           "(`unitriangular`). Batches broadcast.",
       .example = ">>> A = tensor([[2.0, 0.0], [1.0, 4.0]])\n>>> solve_triangular(A, tensor([[2.0], "
                  "[9.0]]), upper=false).tolist()\n[[1.0], [2.0]]",
       .infer = solve_triangular_infer,
       .vjp = solve_triangular_vjp,
       .jvp = solve_triangular_jvp,
       .batch = broadcast_batch,
       .saves = saves_input(0) | saves_output(0),
       .saves_by_input = {saves_input(0) | saves_output(0), saves_input(0)},
       .lowering = Lowering::Library,
       .onnx = onnx_rules::solve_triangular,
       .complex = ComplexRule::Computes});
  table.add(
      {.signature = Signature::parse("cholesky(A: tensor, *, upper: bool = false)"),
       .family = kFamily,
       .documentation =
           "The lower triangular `L` with `L @ L.t() == A` for a symmetric positive-definite matrix, of "
           "which the lower triangle is read; or the upper `U` with `U.t() @ U == A`, from the upper one. "
           "Of complex matrices, which are Hermitian, `L @ L.t().conj() == A`.",
       .example = ">>> cholesky(tensor([[4.0, 2.0], [2.0, 10.0]])).tolist()\n[[2.0, 0.0], [1.0, 3.0]]",
       .infer = infer_square,
       .vjp = cholesky_vjp,
       .jvp = cholesky_jvp,
       .batch = rules::batch_through,
       .saves = saves_output(0),
       .lowering = Lowering::Library,
       .effects = kMayFail,
       .onnx = onnx_rules::cholesky,
       .complex = ComplexRule::Computes});
}

namespace ops {

Tensor inv(const Tensor& a) {
  static const Op& row = OpTable::get().at("inv");
  return apply_one(row, {a});
}
Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  static const Op& row = OpTable::get().at("solve");
  return apply_one(row, {a, b}, {left});
}
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  static const Op& row = OpTable::get().at("solve_triangular");
  return apply_one(row, {a, b}, {upper, left, unit});
}
Tensor cholesky(const Tensor& a, bool upper) {
  static const Op& row = OpTable::get().at("cholesky");
  return apply_one(row, {a}, {upper});
}

}  // namespace ops
}  // namespace kiln
