// Picking and placing along one dimension: gather, scatter, index_select, index_add.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/integers.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln {

void add_advanced_index_ops(OpTable& table);
void add_embedding_ops(OpTable& table);
void add_sort_ops(OpTable& table);
void add_unique_ops(OpTable& table);

namespace {

using rules::apply_one;
using rules::dim_attr;

int rank_of(const TensorType& type) { return static_cast<int>(type.sizes.size()); }
Dim size_along(const Tensor& x, int dim) { return x.rank() == 0 ? 1 : x.size(dim); }
Tensor zeros_of(const TensorType& type) { return ops::zeros(type.sizes, type.dtype, type.device); }

// Linear in input 0, the indices stay as they are.
Tensors jvp_of_first(const JvpArgs& args) {
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  inputs[0] = args.tangents[0];
  return kiln::bind(args.op, inputs, args.attrs);
}

// A 0-d tensor is indexed as if it had one dimension; so is each example of a batch of them.
struct Batched {
  Tensors inputs;
  Attrs attrs;
  bool scalar;
};
Batched batch_along_dim(const BatchArgs& args) {
  Batched result{{}, args.attrs, false};
  for (std::size_t i = 0; i < args.inputs.size(); ++i) result.inputs.push_back(rules::with_batch(args, i));
  result.scalar = result.inputs[0].rank() == 1;
  if (result.scalar) {
    for (Tensor& input : result.inputs) input = ops::reshape(input, Dims{args.batch_size, 1});
  }
  result.attrs = rules::shift_dim(args.attrs, "dim", result.inputs[0].rank() - 1);
  return result;
}
}  // namespace

Tensors scatter_same_rank_batch(const BatchArgs& args) {
  const Batched batched = batch_along_dim(args);
  Tensors result = kiln::bind(args.op, batched.inputs, batched.attrs);
  if (batched.scalar) result[0] = ops::reshape(result[0], Dims{args.batch_size});
  return result;
}

namespace {

// ---- gather, scatter, scatter_add ----

// Ranks agree, and the index is nowhere larger than `other` except along `dim`.
void check_index_shape(const TensorType& other, const TensorType& index, int dim, const Attrs& attrs,
                       int operand, int index_operand, bool along_dim_too) {
  const std::string_view name = attrs.op()->name();
  rules::check_index_dtype(index, name, index_operand);
  const auto fail = [&] {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: an index {} does not fit {}: ranks must be equal and sizes not larger{}",
                              name, to_string(index), to_string(other),
                              along_dim_too ? "" : fmt::format(", apart from dimension {}", dim)),
                  {operand, index_operand});
  };
  // What is 0-d counts as one dimension of one element.
  const int rank = std::max(rank_of(index), 1);
  if (std::max(rank_of(other), 1) != rank) fail();
  const auto size_of = [](const TensorType& type, int d) {
    return type.sizes.empty() ? 1 : type.sizes[as_index(d)];
  };
  for (int d = 0; d < rank; ++d) {
    if ((along_dim_too || d != dim) && size_of(index, d) > size_of(other, d)) fail();
  }
}

std::vector<TensorType> gather_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  check_index_shape(inputs[0], inputs[1], dim, attrs, 0, 1, false);
  return {rules::with_sizes(inputs[0], inputs[1].sizes)};
}
Tensors gather_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", rank_of(args.input_types[0]));
  return {ops::scatter_add(zeros_of(args.input_types[0]), dim, args.inputs[1], args.grads[0]), {}};
}

}  // namespace

std::vector<TensorType> scatter_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  check_index_shape(inputs[0], inputs[1], dim, attrs, 0, 1, false);
  if (!inputs[2].is_number) check_index_shape(inputs[2], inputs[1], dim, attrs, 2, 1, true);
  if (inputs[2].dtype != inputs[0].dtype && !inputs[2].is_number) {
    throw OpError(ErrorKind::DType,
                  fmt::format("{}: the source is {}, the tensor is {}", attrs.op()->name(),
                              to_string(inputs[2]), to_string(inputs[0])),
                  {0, 2}, fmt::format("convert the source with `.to({})`", name(inputs[0].dtype)));
  }
  return rules::infer_same(inputs, attrs);
}

// Of its own dtype: bools times a number are bools.
Tensor times_alpha(const Tensor& source, const Attrs& attrs) {
  if (rules::float_of(attrs.at("alpha")) == 1) return source;
  return ops::to(source * rules::number_attr(attrs.at("alpha")), source.dtype());
}

Tensor padded_to(const Tensor& gradient, const TensorType& source) {
  static const Op& pad = op_named("constant_pad");
  Dims margins;
  for (int d = rank_of(source) - 1; d >= 0; --d) {
    margins.push_back(0);
    margins.push_back(source.sizes[as_index(d)] - (gradient.rank() == 0 ? 1 : gradient.size(d)));
  }
  const bool whole = std::all_of(margins.begin(), margins.end(), [](Dim margin) { return margin == 0; });
  return ops::reshape(whole ? gradient : apply_one(pad, {gradient}, {margins, std::int64_t{0}}),
                      source.sizes);
}

Tensor source_gradient(const Tensor& picked, const TensorType& source) {
  if (source.is_number) return ops::to(ops::reshape(ops::sum(picked), source.sizes), source.dtype);
  return padded_to(picked, source);
}

namespace {

Tensors scatter_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", rank_of(args.input_types[0]));
  const Tensor& index = args.inputs[1];
  Tensors result(3);
  if (args.needs[0]) {
    const Tensor inputs[] = {args.grads[0], index, Tensor::number(std::int64_t{0})};
    result[0] = kiln::bind(args.op, inputs, args.attrs).front();
  }
  if (args.needs[2]) {
    Tensor picked = ops::gather(args.grads[0], dim, index);
    if (index.numel() > 1) picked = of_those_that_stay(picked, args.grads[0], dim, index);
    result[2] = source_gradient(picked, args.input_types[2]);
  }
  return result;
}
Tensors scatter_add_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", rank_of(args.input_types[0]));
  Tensors result(3);
  if (args.needs[0]) result[0] = args.grads[0];
  if (args.needs[2]) {
    result[2] = source_gradient(ops::gather(args.grads[0], dim, args.inputs[1]), args.input_types[2]);
  }
  return result;
}
Tensors scatter_jvp(const JvpArgs& args) {
  const auto tangent = [&](std::size_t i) {
    if (args.tangents[i]) return args.tangents[i];
    return args.inputs[i].is_number() ? Tensor::number(0.0) : ops::zeros_like(args.inputs[i]);
  };
  const Tensor inputs[] = {tangent(0), args.inputs[1], tangent(2)};
  return kiln::bind(args.op, inputs, args.attrs);
}
}  // namespace

Tensors scatter_batch(const BatchArgs& args) {
  if (!args.inputs[2].is_number()) return scatter_same_rank_batch(args);
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  const Tensor& index = args.inputs[1];
  const Dims inner(index.sizes().begin() + (args.batched[1] ? 1 : 0), index.sizes().end());
  inputs[2] = ops::full(inner, args.inputs[2], args.inputs[0].dtype(), args.inputs[0].device());
  const bool flags[] = {args.batched[0], args.batched[1], false};
  return scatter_same_rank_batch({args.op, args.attrs, inputs, flags, args.batch_size});
}

namespace {

std::vector<TensorType> take_along_dim_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  rules::check_index_dtype(inputs[1], "take_along_dim", 1);
  if (!attrs.has("dim")) return {rules::with_sizes(inputs[0], Dims{count_elements(inputs[1].sizes)})};
  if (rank_of(inputs[0]) != rank_of(inputs[1])) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("take_along_dim: {} and {} must have equally many dimensions",
                              to_string(inputs[0]), to_string(inputs[1])),
                  {0, 1});
  }
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  Dims x = inputs[0].sizes;
  Dims index = inputs[1].sizes;
  if (x.empty()) return {inputs[0]};
  const Dim length = index[as_index(dim)];
  x[as_index(dim)] = index[as_index(dim)] = 1;
  Dims sizes = broadcast(x, index, "take_along_dim");
  sizes[as_index(dim)] = length;
  return {rules::with_sizes(inputs[0], sizes)};
}
Tensors take_along_dim_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const auto from_end = [&](Dim size) {
    const Tensor length = Tensor::number(size);
    return ops::where(ops::lt(inputs[1], Tensor::number(std::int64_t{0})), inputs[1] + length, inputs[1]);
  };
  if (!attrs.has("dim")) {
    return {ops::gather(ops::reshape(inputs[0], Dims{inputs[0].numel()}), 0,
                        ops::reshape(from_end(inputs[0].numel()), Dims{inputs[1].numel()}))};
  }
  const TensorType types[] = {inputs[0].type(), inputs[1].type()};
  const Dims sizes = take_along_dim_infer(types, attrs).front().sizes;
  const int dim = dim_attr(attrs, "dim", inputs[0].rank());
  Dims wide = sizes;
  if (!wide.empty()) wide[as_index(dim)] = inputs[0].size(dim);
  const Tensor index = ops::expand(from_end(size_along(inputs[0], dim)), sizes);
  return {ops::gather(ops::expand(inputs[0], wide), dim, index)};
}

// ---- index_select, index_add, index_fill ----

void check_vector_index(const TensorType& index, std::string_view name) {
  rules::check_index_dtype(index, name, 1);
  if (rank_of(index) <= 1) return;
  throw OpError(ErrorKind::Shape,
                fmt::format("{}: the index must be a vector, it is {}", name, to_string(index)), {1});
}
std::vector<TensorType> index_select_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_vector_index(inputs[1], "index_select");
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  Dims sizes = inputs[0].sizes;
  if (!sizes.empty()) sizes[as_index(dim)] = count_elements(inputs[1].sizes);
  if (sizes.empty() && count_elements(inputs[1].sizes) != 1) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("index_select: of a 0-d tensor one element is taken, not {}",
                              count_elements(inputs[1].sizes)),
                  {0, 1});
  }
  return {rules::with_sizes(inputs[0], sizes)};
}
Tensors index_select_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", rank_of(args.input_types[0]));
  return {ops::index_add(zeros_of(args.input_types[0]), dim, args.inputs[1], args.grads[0]), {}};
}

// An index of each example, [batch, n], as an index of the same rank as `like`, along `dim` + 1.
Tensor spread_index(const Tensor& index, const Tensor& like, int dim) {
  Dims sizes = like.sizes();
  const Dim length = index.rank() == 1 ? 1 : index.size(1);
  sizes[as_index(dim) + 1] = length;
  Dims apart(sizes.size(), 1);
  apart[0] = sizes[0];
  apart[as_index(dim) + 1] = length;
  return ops::expand(ops::reshape(index, apart), sizes);
}
Tensors index_select_batch(const BatchArgs& args) {
  const Tensor batch = rules::with_batch(args, 0);
  const int rank = batch.rank() - 1;
  const Tensor x = rank == 0 ? ops::unsqueeze(batch, 1) : batch;
  const int dim = dim_attr(args.attrs, "dim", rank);
  const Tensor rows = args.batched[1] ? ops::gather(x, dim + 1, spread_index(args.inputs[1], x, dim))
                                      : ops::index_select(x, dim + 1, args.inputs[1]);
  return {rank == 0 ? ops::reshape(rows, batch.sizes()) : rows};
}

std::vector<TensorType> index_add_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_vector_index(inputs[1], "index_add");
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  Dims sizes = inputs[0].sizes;
  if (!sizes.empty()) sizes[as_index(dim)] = count_elements(inputs[1].sizes);
  if (sizes != inputs[2].sizes) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("index_add: the source must be {}, it is {}", to_string(sizes), to_string(inputs[2])),
        {0, 2});
  }
  if (inputs[2].dtype != inputs[0].dtype) {
    throw OpError(ErrorKind::DType,
                  fmt::format("index_add: the source is {}, the tensor is {}", to_string(inputs[2]),
                              to_string(inputs[0])),
                  {0, 2}, fmt::format("convert the source with `.to({})`", name(inputs[0].dtype)));
  }
  if (!is_float(inputs[0].dtype) && std::holds_alternative<double>(attrs.at("alpha"))) {
    throw OpError(ErrorKind::DType,
                  fmt::format("index_add: alpha must be an int for {} elements", name(inputs[0].dtype)), {0});
  }
  return rules::infer_same(inputs, attrs);
}
Tensors index_add_vjp(const VjpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", rank_of(args.input_types[0]));
  Tensors result(3);
  if (args.needs[0]) result[0] = args.grads[0];
  if (args.needs[2]) {
    result[2] = times_alpha(ops::index_select(args.grads[0], dim, args.inputs[1]), args.attrs);
  }
  return result;
}
Tensors index_add_batch(const BatchArgs& args) {
  const Tensor x = rules::with_batch(args, 0);
  const Tensor source = rules::with_batch(args, 2);
  const int rank = x.rank() - 1;
  const int dim = dim_attr(args.attrs, "dim", rank);
  const Tensor scaled = times_alpha(source, args.attrs);
  if (rank == 0) return {x + scaled};
  if (!args.batched[1]) return {ops::index_add(x, dim + 1, args.inputs[1], scaled)};
  return {ops::scatter_add(x, dim + 1, spread_index(args.inputs[1], source, dim), scaled)};
}

std::vector<TensorType> index_fill_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_vector_index(inputs[1], "index_fill");
  dim_attr(attrs, "dim", rank_of(inputs[0]));
  if (!inputs[2].sizes.empty()) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("index_fill: the value must be one number, it is {}", to_string(inputs[2])),
                  {2});
  }
  return rules::infer_same(inputs, attrs);
}
Tensors index_fill_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", inputs[0].rank());
  const Tensor x = inputs[0].rank() == 0 ? ops::reshape(inputs[0], Dims{1}) : inputs[0];
  Tensors indices(static_cast<std::size_t>(dim));
  indices.push_back(inputs[1]);
  return {ops::reshape(ops::index_put(x, indices, inputs[2]), inputs[0].sizes())};
}

// ---- Rows ----

void add_gathering(OpTable& table) {
  table.add({.signature = Signature::parse("gather(x: tensor, dim: index, index: tensor)"),
             .family = "index",
             .documentation = "Picks along `dim` the index given for each place: for dim 0, `result[i][j] = "
                              "x[index[i][j]][j]`.",
             .example = ">>> tensor([[1, 2], [3, 4]]).gather(1, tensor([[1], [0]])).tolist()\n[[2], [3]]",
             .infer = gather_infer,
             .vjp = gather_vjp,
             .jvp = jvp_of_first,
             .batch = scatter_same_rank_batch,
             .saves = saves_input(1),
             .lowering = lowering::Gather{},
             .effects = kMayFail,
             .onnx = onnx_rules::gather,
             .complex = ComplexRule::parts_beside(1U << 1)});
  table.add(
      {.signature = Signature::parse("scatter(x: tensor, dim: index, index: tensor, src: tensor)"),
       .family = "index",
       .documentation =
           "A copy of `x` with the elements of `src`, or one number, written along `dim` where `index` "
           "says; of several for one place the last stays.",
       .example = ">>> zeros(3, dtype=i64).scatter(0, tensor([2, 0]), tensor([5, 6])).tolist()\n[6, 0, 5]",
       .infer = scatter_infer,
       .vjp = scatter_vjp,
       .jvp = scatter_jvp,
       .batch = scatter_batch,
       .saves = saves_input(1),
       .lowering = Lowering::Scatter,
       .traits = kInplace,
       .effects = kMayFail,
       .onnx = onnx_rules::scatter,
       .complex = ComplexRule::parts_beside(1U << 1)});
  table.add(
      {.signature = Signature::parse("scatter_add(x: tensor, dim: index, index: tensor, src: tensor)"),
       .family = "index",
       .documentation =
           "A copy of `x` with the elements of `src` added along `dim` where `index` says, in order.",
       .example =
           ">>> zeros(3, dtype=i64).scatter_add(0, tensor([2, 2]), tensor([5, 6])).tolist()\n[0, 0, 11]",
       .infer = scatter_infer,
       .vjp = scatter_add_vjp,
       .jvp = scatter_jvp,
       .batch = scatter_batch,
       .saves = saves_input(1),
       .lowering = Lowering::Scatter,
       .traits = kInplace,
       .effects = kMayFail,
       .onnx = onnx_rules::scatter_add,
       .complex = ComplexRule::parts_beside(1U << 1)});
  table.add(
      {.signature = Signature::parse("take_along_dim(x: tensor, indices: tensor, dim: index? = none)"),
       .family = "index",
       .documentation =
           "`gather` with broadcasting: what `argsort` and `argmax` give can be taken. Without `dim`, of "
           "the flat tensor. Negative indices count from the end.",
       .example = ">>> x = tensor([[3, 1], [2, 4]])\n>>> x.take_along_dim(x.argsort(1), 1).tolist()\n[[1, "
                  "3], [2, 4]]",
       .infer = take_along_dim_infer,
       .decompose = take_along_dim_body,
       .vjp = Rule<VjpFn>::none(kComposite),
       .jvp = Rule<JvpFn>::none(kComposite),
       .batch = Rule<BatchFn>::none(kComposite),
       .effects = kMayFail,
       .complex = ComplexRule::parts_beside(1U << 1)});
}

void add_selecting(OpTable& table) {
  table.add(
      {.signature = Signature::parse("index_select(x: tensor, dim: index, index: tensor)"),
       .family = "index",
       .documentation = "A copy of the slices along `dim` that a vector of integers names.",
       .example = ">>> tensor([[1, 2], [3, 4]]).index_select(0, tensor([1, 1])).tolist()\n[[3, 4], [3, 4]]",
       .infer = index_select_infer,
       .vjp = index_select_vjp,
       .jvp = jvp_of_first,
       .batch = index_select_batch,
       .saves = saves_input(1),
       .lowering = lowering::Gather{},
       .effects = kMayFail,
       .onnx = onnx_rules::index_select,
       .complex = ComplexRule::parts_beside(1U << 1)});
  table.add(
      {.signature = Signature::parse(
           "index_add(x: tensor, dim: index, index: tensor, source: tensor, *, alpha: number = 1)"),
       .family = "index",
       .documentation =
           "A copy of `x` with the slices of `source`, times `alpha`, added to those along `dim` that a "
           "vector of integers names, in order.",
       .example = ">>> zeros(3, dtype=i64).index_add(0, tensor([0, 0]), tensor([1, 2])).tolist()\n[3, 0, 0]",
       .infer = index_add_infer,
       .vjp = index_add_vjp,
       .jvp = scatter_jvp,
       .batch = index_add_batch,
       .saves = saves_input(1),
       .lowering = Lowering::Scatter,
       .traits = kInplace,
       .effects = kMayFail,
       .onnx = onnx_rules::index_add,
       .complex = ComplexRule::parts_beside(1U << 1)});
  table.add({.signature = Signature::parse("index_fill(x: tensor, dim: index, index: tensor, value: tensor)"),
             .family = "index",
             .documentation =
                 "A copy of `x` with one number in the slices along `dim` that a vector of integers names.",
             .example = ">>> zeros(3, dtype=i64).index_fill(0, tensor([0, 2]), 7).tolist()\n[7, 0, 7]",
             .infer = index_fill_infer,
             .decompose = index_fill_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .traits = kInplace,
             .effects = kMayFail,
             .complex = ComplexRule::parts_beside(1U << 1)});
}

}  // namespace

void add_index_ops(OpTable& table) {
  add_gathering(table);
  add_scatter_reduce_ops(table);
  add_selecting(table);
  add_embedding_ops(table);
  add_advanced_index_ops(table);
  add_sort_ops(table);
  add_unique_ops(table);
}

namespace ops {

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  static const Op& row = op_named("gather");
  return apply_one(row, {x, index}, {std::int64_t{dim}});
}
Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  static const Op& row = op_named("scatter");
  return apply_one(row, {x, index, source}, {std::int64_t{dim}});
}
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  static const Op& row = op_named("scatter_add");
  return apply_one(row, {x, index, source}, {std::int64_t{dim}});
}
Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  static const Op& row = op_named("index_select");
  return apply_one(row, {x, index}, {std::int64_t{dim}});
}
Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  static const Op& row = op_named("index_add");
  return apply_one(row, {x, index, source}, {std::int64_t{dim}});
}

}  // namespace ops
}  // namespace kiln
