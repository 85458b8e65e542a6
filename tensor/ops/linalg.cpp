// Products of matrices and vectors in all combinations of ranks.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/linalg.h"
#include "tensor/ops/products.h"

namespace kiln {

void check_bias(const Tensor& bias, const TensorType& result) {
  if (bias.dtype() == result.dtype && broadcastable_to(bias.sizes(), result.sizes)) return;
  throw OpError(
      bias.dtype() == result.dtype ? ErrorKind::Shape : ErrorKind::DType,
      fmt::format("linear: a bias {} does not fit the result {}", to_string(bias.type()), to_string(result)),
      {2});
}

namespace {

using linalg::kFamily;
using rules::apply_one;

// ---- Shape rules ----

[[noreturn]] void refuse(const TensorType& a, const TensorType& b, ErrorKind kind, std::string_view why,
                         std::string help = {}) {
  throw OpError(kind, fmt::format("cannot multiply {} by {}: {}", to_string(a), to_string(b), why), {0, 1},
                std::move(help));
}

void check_product_dtypes(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) {
    refuse(a, b, ErrorKind::DType, "dtypes differ",
           fmt::format("convert one with `.to({})`", name(promote(a.dtype, b.dtype))));
  }
  if (a.dtype == DType::Bool) {
    refuse(a, b, ErrorKind::DType, "bool has no product", "convert both with `.to(i64)` or `.to(f32)`");
  }
}

std::vector<TensorType> matmul_infer(std::span<const TensorType> inputs, const Attrs&) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  if (a.sizes.empty() || b.sizes.empty()) {
    refuse(a, b, ErrorKind::Shape, "a 0-d tensor is not a matrix", "`*` multiplies by a number");
  }
  check_product_dtypes(a, b);
  const bool a_vector = a.sizes.size() == 1;
  const bool b_vector = b.sizes.size() == 1;
  const Dim inner_a = a.sizes.back();
  const Dim inner_b = b.sizes[b.sizes.size() - (b_vector ? 1 : 2)];
  if (inner_a != inner_b) {
    const bool flipped = b.sizes.size() == 2 && b.sizes[1] == inner_a;
    refuse(a, b, ErrorKind::Shape, fmt::format("inner sizes {} and {} differ", inner_a, inner_b),
           flipped ? "transpose the right one with `.t()`" : "");
  }
  const auto batch = [](const Dims& sizes) {
    return std::span<const Dim>(sizes.data(), sizes.size() > 2 ? sizes.size() - 2 : 0);
  };
  if (!broadcastable_to(batch(a.sizes), batch(b.sizes)) &&
      !broadcastable_to(batch(b.sizes), batch(a.sizes))) {
    // Neither is the wider one: `broadcast` settles it, or the shapes do not fit.
    try {
      broadcast(batch(a.sizes), batch(b.sizes), "matmul");
    } catch (const OpError&) {
      refuse(a, b, ErrorKind::Shape,
             fmt::format("batch sizes {} and {} do not broadcast", to_string(batch(a.sizes)),
                         to_string(batch(b.sizes))));
    }
  }
  Dims sizes = broadcast(batch(a.sizes), batch(b.sizes), "matmul");
  if (!a_vector) sizes.push_back(a.sizes[a.sizes.size() - 2]);
  if (!b_vector) sizes.push_back(b.sizes.back());
  return {rules::with_sizes(a, sizes)};
}

void check_ranks(std::span<const TensorType> inputs, const Attrs& attrs, std::size_t a, std::size_t b) {
  if (inputs[0].sizes.size() == a && inputs[1].sizes.size() == b) return;
  throw OpError(ErrorKind::Shape,
                fmt::format("{}: expects {} and {} dimensions, got {} and {}", attrs.op()->name(), a, b,
                            to_string(inputs[0]), to_string(inputs[1])),
                {0, 1}, "`matmul` (`@`) takes any ranks");
}
template <std::size_t A, std::size_t B>
std::vector<TensorType> ranked_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_ranks(inputs, attrs, A, B);
  return matmul_infer(inputs, attrs);
}
std::vector<TensorType> bmm_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_ranks(inputs, attrs, 3, 3);
  if (inputs[0].sizes[0] != inputs[1].sizes[0]) {
    refuse(inputs[0], inputs[1], ErrorKind::Shape,
           fmt::format("batch sizes {} and {} differ", inputs[0].sizes[0], inputs[1].sizes[0]),
           "`matmul` broadcasts");
  }
  return matmul_infer(inputs, attrs);
}
std::vector<TensorType> outer_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_ranks(inputs, attrs, 1, 1);
  TensorType type = rules::with_sizes(inputs[0], Dims{inputs[0].sizes[0], inputs[1].sizes[0]});
  type.dtype = promote(inputs[0].dtype, inputs[1].dtype);
  return {type};
}
std::vector<TensorType> linear_infer(std::span<const TensorType> inputs, const Attrs&) {
  const TensorType& x = inputs[0];
  const TensorType& weight = inputs[1];
  if (x.sizes.empty() || weight.sizes.empty() || weight.sizes.size() > 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("linear: expects x[…, in] and weight[out, in], got {} and {}", to_string(x),
                              to_string(weight)),
                  {0, 1});
  }
  if (x.dtype != weight.dtype || x.dtype == DType::Bool) check_product_dtypes(x, weight);
  if (x.sizes.back() != weight.sizes.back()) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("linear: {} has {} features but the weight {} takes {}", to_string(x),
                              x.sizes.back(), to_string(weight), weight.sizes.back()),
                  {0, 1});
  }
  Dims sizes(x.sizes.begin(), x.sizes.end() - 1);
  if (weight.sizes.size() == 2) sizes.push_back(weight.sizes[0]);
  return {rules::with_sizes(x, sizes)};
}

// ---- Bodies ----

// Where it says more than the op: what has no sums is elementwise.
Tensor product_body(const Tensor& a, const Tensor& b) {
  return multiplies_pairs(a.sizes(), b.sizes()) ? a * b : ops::matmul(a, b);
}
Tensors matmul_body(const Op&, Inputs inputs, const Attrs&) { return {product_body(inputs[0], inputs[1])}; }

Tensors linear_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensor product =
      product_body(inputs[0], inputs[1].rank() == 2 ? ops::transpose(inputs[1], 0, 1) : inputs[1]);
  if (inputs.size() < 3 || !inputs[2]) return {product};
  check_bias(inputs[2], product.type());
  return {product + inputs[2]};
}

std::int64_t inner_size(Inputs inputs) { return inputs[0].size(inputs[0].rank() - 1); }

Tensors outer_body(const Op&, Inputs inputs, const Attrs&) {
  return {ops::unsqueeze(inputs[0], 1) * ops::unsqueeze(inputs[1], 0)};
}

std::vector<TensorType> trace_infer(std::span<const TensorType> inputs, const Attrs&) {
  if (inputs[0].sizes.size() != 2) {
    throw OpError(ErrorKind::Shape, fmt::format("trace: expects a matrix, got {}", to_string(inputs[0])),
                  {0});
  }
  TensorType type = rules::with_sizes(inputs[0], Dims{});
  if (!is_float(type.dtype)) type.dtype = DType::I64;
  return {type};
}
Tensors trace_body(const Op&, Inputs inputs, const Attrs&) { return {ops::sum(ops::diagonal(inputs[0]))}; }

// ---- Derivatives and batching ----

Tensor swap_last(const Tensor& x) { return ops::transpose(x, x.rank() - 2, x.rank() - 1); }
// The rows of a tensor as one matrix; of an empty one, −1 does not say how many.
Tensor fold(const Tensor& x) {
  Dims sizes{-1, x.rank() == 0 ? 1 : x.size(x.rank() - 1)};
  if (x.numel() == 0) {
    sizes[0] = 1;
    for (int d = 0; d + 1 < x.rank(); ++d) sizes[0] *= x.size(d);
  }
  return ops::reshape(x, sizes);
}

// The gradient of the right matrix: one product over all rows where only the left one has a batch.
Tensor right_gradient(const Tensor& a, const Tensor& g, std::span<const Dim> sizes) {
  if (sizes.size() == 2 && a.rank() > 2 && a.numel() > 0) return ops::matmul(swap_last(fold(a)), fold(g));
  return ops::sum_to(ops::matmul(swap_last(a), g), sizes);
}

Tensors matmul_vjp(const VjpArgs& args) {
  const Dims& a_sizes = args.input_types[0].sizes;
  const Dims& b_sizes = args.input_types[1].sizes;
  Tensor g = args.grads[0];
  if (b_sizes.size() == 1) g = ops::unsqueeze(g, g.rank());
  if (a_sizes.size() == 1) g = ops::unsqueeze(g, g.rank() - 1);
  Tensors result(2);
  if (args.needs[0]) {
    const Tensor b = b_sizes.size() == 1 ? ops::unsqueeze(args.inputs[1], 1) : args.inputs[1];
    const Dims sizes = a_sizes.size() == 1 ? rules::prepend(1, a_sizes) : a_sizes;
    result[0] = ops::reshape(ops::sum_to(ops::matmul(g, swap_last(b)), sizes), a_sizes);
  }
  if (args.needs[1]) {
    const Tensor a = a_sizes.size() == 1 ? ops::unsqueeze(args.inputs[0], 0) : args.inputs[0];
    Dims sizes = b_sizes;
    if (sizes.size() == 1) sizes.push_back(1);
    result[1] = ops::reshape(right_gradient(a, g, sizes), b_sizes);
  }
  return result;
}

Tensors matmul_jvp(const JvpArgs& args) {
  Tensor tangent;
  if (args.tangents[0]) tangent = ops::matmul(args.tangents[0], args.inputs[1]);
  if (args.tangents[1]) {
    const Tensor right = ops::matmul(args.inputs[0], args.tangents[1]);
    tangent = tangent ? tangent + right : right;
  }
  return {tangent};
}

Tensors matmul_batch(const BatchArgs& args) {
  Tensor a = args.inputs[0];
  Tensor b = args.inputs[1];
  const int a_rank = a.rank() - (args.batched[0] ? 1 : 0);
  const int b_rank = b.rank() - (args.batched[1] ? 1 : 0);
  // One matrix for all vectors: a product of two matrices instead of many with a vector.
  if (!args.batched[0] && a_rank == 2 && b_rank == 1) return {ops::matmul(b, swap_last(a))};
  if (a_rank == 1) a = ops::unsqueeze(a, a.rank() - 1);
  if (b_rank == 1) b = ops::unsqueeze(b, b.rank());
  const int rank = std::max({a_rank, b_rank, 2});
  if (args.batched[0] && b_rank > 2) a = rules::pad_rank(a, rank);
  if (args.batched[1]) b = rules::pad_rank(b, rank);
  if (args.batched[0] && args.batched[1]) a = rules::pad_rank(a, rank);
  Tensor result = ops::matmul(a, b);
  if (b_rank == 1) result = ops::squeeze(result, Dims{result.rank() - 1});
  if (a_rank == 1) result = ops::squeeze(result, Dims{result.rank() - (b_rank == 1 ? 1 : 2)});
  return {result};
}

Tensors linear_vjp(const VjpArgs& args) {
  const Tensor& g = args.grads[0];
  Tensors result(args.input_types.size());
  const bool matrix = args.input_types[1].sizes.size() == 2;
  const auto as_rows = [&](const Tensor& x) { return matrix ? fold(x) : ops::reshape(x, Dims{-1, 1}); };
  if (args.needs[0]) {
    const Tensor weight = matrix ? args.inputs[1] : ops::unsqueeze(args.inputs[1], 0);
    const Tensor wide = matrix ? g : ops::unsqueeze(g, g.rank());
    result[0] = ops::matmul(wide, weight);
  }
  if (args.needs[1]) {
    const Tensor product = ops::matmul(ops::transpose(as_rows(g), 0, 1), fold(args.inputs[0]));
    result[1] = ops::reshape(product, args.input_types[1].sizes);
  }
  if (args.needs.size() > 2 && args.needs[2]) result[2] = ops::sum_to(g, args.input_types[2].sizes);
  return result;
}

// ---- Rows ----

Op product_row(std::string_view signature, std::string_view documentation, std::string_view example,
               InferFn infer, OnnxRule onnx) {
  return {.signature = Signature::parse(signature),
          .family = kFamily,
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = matmul_body,
          .vjp = matmul_vjp,
          .jvp = matmul_jvp,
          .batch = matmul_batch,
          .saves = saves_input(0) | saves_input(1),
          .saves_by_input = {saves_input(1), saves_input(0)},
          .lowering = lowering::Library{},
          .products = inner_size,
          .traits = kLowPrecision,
          .onnx = onnx,
          .complex = complex_rules::multilinear};
}

void add_products(OpTable& table) {
  table.add(product_row(
      "matmul(a: tensor, b: tensor)",
      "The matrix product, `a @ b`. Vectors are rows on the left and columns on the right; dimensions "
      "before the last two are a batch and broadcast.",
      ">>> matmul(tensor([[1, 2], [3, 4]]), tensor([1, 1])).tolist()\n[3, 7]", matmul_infer,
      onnx_rules::matmul));
  table.add(product_row("mm(a: tensor, b: tensor)", "The product of two matrices.",
                        ">>> mm(tensor([[1, 2], [3, 4]]), eye(2, dtype=i64)).tolist()\n[[1, 2], [3, 4]]",
                        ranked_infer<2, 2>, onnx_rules::matmul));
  table.add(product_row("bmm(a: tensor, b: tensor)", "The products of two equally long batches of matrices.",
                        ">>> bmm(ones(2, 1, 3), ones(2, 3, 1)).tolist()\n[[[3.0]], [[3.0]]]", bmm_infer,
                        onnx_rules::matmul));
  table.add(product_row("mv(a: tensor, b: tensor)", "The product of a matrix and a vector.",
                        ">>> mv(tensor([[1, 2], [3, 4]]), tensor([1, 1])).tolist()\n[3, 7]",
                        ranked_infer<2, 1>, onnx_rules::matmul));
  table.add(product_row("dot(a: tensor, b: tensor)", "The sum of the products of two vectors' elements.",
                        ">>> dot(tensor([1, 2]), tensor([3, 4])).item()\n11", ranked_infer<1, 1>,
                        onnx_rules::matmul));
}

void add_compositions(OpTable& table) {
  table.add({.signature = Signature::parse("linear(x: tensor, weight: tensor, bias: tensor? = none)"),
             .family = kFamily,
             .documentation = "`x @ weight.t() + bias` for a weight of shape [out, in].",
             .example = ">>> linear(ones(2), tensor([[1.0, 2.0]]), tensor([0.5])).tolist()\n[3.5]",
             .infer = linear_infer,
             .decompose = linear_body,
             .vjp = linear_vjp,
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .saves = saves_input(0) | saves_input(1),
             .saves_by_input = {saves_input(1), saves_input(0), kSavesNothing},
             .lowering = lowering::Library{},
             .products = inner_size,
             .traits = kLowPrecision,
             .onnx = onnx_rules::linear,
             .complex = complex_rules::linear});
  table.add({.signature = Signature::parse("outer(a: tensor, b: tensor)"),
             .family = kFamily,
             .documentation = "The matrix of all products of an element of `a` and one of `b`.",
             .example = ">>> outer(tensor([1, 2]), tensor([3, 4])).tolist()\n[[3, 4], [6, 8]]",
             .infer = outer_infer,
             .decompose = outer_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = complex_rules::multilinear});
  table.add({.signature = Signature::parse("trace(x: tensor)"),
             .family = kFamily,
             .documentation = "The sum of a matrix's diagonal.",
             .example = ">>> trace(tensor([[1, 2], [3, 4]])).item()\n5",
             .infer = trace_infer,
             .decompose = trace_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = ComplexRule::PartByPart});
}

}  // namespace

void add_linalg_ops(OpTable& table) {
  add_products(table);
  add_compositions(table);
  add_einsum_op(table);
  add_solve_ops(table);
  add_lu_ops(table);
  add_determinant_ops(table);
  add_decompose_ops(table);
  add_eig_ops(table);
  add_matrix_norm_ops(table);
  add_matrix_function_ops(table);
}

namespace ops {

Tensor matmul(const Tensor& a, const Tensor& b) {
  static const Op& row = op_named("matmul");
  return apply_one(row, {a, b});
}
Tensor mm(const Tensor& a, const Tensor& b) {
  static const Op& row = op_named("mm");
  return apply_one(row, {a, b});
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  static const Op& row = op_named("bmm");
  return apply_one(row, {a, b});
}
Tensor dot(const Tensor& a, const Tensor& b) {
  static const Op& row = op_named("dot");
  return apply_one(row, {a, b});
}
Tensor outer(const Tensor& a, const Tensor& b) {
  static const Op& row = op_named("outer");
  return apply_one(row, {a, b});
}
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  static const Op& row = op_named("linear");
  return apply_one(row, {x, weight, bias});
}

}  // namespace ops
}  // namespace kiln
