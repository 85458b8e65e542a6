// The scatters that undo views: a copy of a tensor with one view of it replaced.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln {

void add_view_scatter_ops(OpTable& table);

void check_scattered_places(const Layout& piece, std::int64_t limit) {
  if (has_overlap(piece)) {
    throw OpError(ErrorKind::Value,
                  fmt::format("as_strided_scatter: places of sizes {} and strides {} overlap",
                              to_string(piece.sizes), to_string(piece.strides)),
                  {0});
  }
  const auto [begin, end] = extent(piece);
  if (begin < 0 || end > limit) {
    throw OpError(
        ErrorKind::Index,
        fmt::format("as_strided_scatter: places up to {} do not lie within a storage of {} elements", end,
                    limit),
        {0});
  }
}

namespace {

using rules::apply_one;

// A scatter and the view it undoes share the names of their attributes.
template <ViewFn F>
std::vector<TensorType> scatter_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Layout piece = F(rules::contiguous_layout(inputs[0].sizes), attrs).front();
  if (piece.sizes != inputs[1].sizes) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: the place in {} has shape {}, the source is {}", attrs.op()->name(),
                              to_string(inputs[0]), to_string(piece.sizes), to_string(inputs[1])),
                  {0, 1});
  }
  return rules::infer_same(inputs, attrs);
}

// The attributes of the scatter as those of the view of the same shape.
Attrs for_op(const Op& other, const Attrs& attrs) {
  Attrs result(other);
  result.values().assign(attrs.values().begin(), attrs.values().end());
  return result;
}

Tensors scatter_vjp(const VjpArgs& args, std::string_view view) {
  Tensors result(2);
  const TensorType& source = args.input_types[1];
  if (args.needs[0]) {
    const Tensor inputs[] = {args.grads[0], ops::zeros(source.sizes, args.grads[0].dtype(), source.device)};
    result[0] = kiln::bind(args.op, inputs, args.attrs).front();
  }
  if (args.needs[1]) {
    result[1] = ops::to(kiln::bind(op_named(view), args.grads, for_op(op_named(view), args.attrs)).front(),
                        source.dtype);
  }
  return result;
}
Tensors slice_scatter_vjp(const VjpArgs& args) { return scatter_vjp(args, "slice"); }
Tensors select_scatter_vjp(const VjpArgs& args) { return scatter_vjp(args, "select"); }
Tensors diagonal_scatter_vjp(const VjpArgs& args) { return scatter_vjp(args, "diagonal"); }

Tensors scatter_jvp(const JvpArgs& args) {
  const auto tangent = [&](std::size_t i) {
    return args.tangents[i] ? args.tangents[i] : ops::zeros_like(args.inputs[i]);
  };
  const Tensor tangents[] = {tangent(0), tangent(1)};
  return kiln::bind(args.op, tangents, args.attrs);
}

// A number becomes a tensor, which would be cast.
void check_source(const BatchArgs& args) {
  rules::check_fits(args.inputs[1], args.inputs[0].dtype(), args.op.name(), 1);
}

Tensors scatter_batch(const BatchArgs& args, std::initializer_list<std::string_view> dims) {
  check_source(args);
  const Tensor inputs[] = {rules::with_batch(args, 0), rules::with_batch(args, 1)};
  Attrs attrs = args.attrs;
  for (const std::string_view dim : dims) attrs = rules::shift_dim(attrs, dim, inputs[0].rank() - 1);
  return kiln::bind(args.op, inputs, attrs);
}
Tensors along_dim_batch(const BatchArgs& args) { return scatter_batch(args, {"dim"}); }
Tensors diagonal_scatter_batch(const BatchArgs& args) { return scatter_batch(args, {"dim1", "dim2"}); }

// ---- as_strided_scatter ----

// The gradient is laid out as the input was, so that the same strides read it.
Tensors as_strided_scatter_vjp(const VjpArgs& args) {
  const Layout input = args.inputs[0].layout();
  const Layout piece = as_strided_layout(input, args.attrs).front();
  const auto [input_begin, input_end] = extent(input);
  const auto [piece_begin, piece_end] = extent(piece);
  const std::int64_t first = std::min(input_begin, piece_begin);
  const std::int64_t count = std::max(input_end, piece_end) - first;
  const Tensor line = rules::counting(count, args.grads[0].device());
  const Tensor places = ops::reshape(ops::as_strided(line, input.sizes, input.strides, input.offset - first),
                                     Dims{count_elements(input.sizes)});
  const Tensor& g = args.grads[0];
  const TensorType& source = args.input_types[1];
  Tensor storage = ops::zeros(Dims{count}, g.dtype(), g.device());
  storage = ops::index_add(storage, 0, places, ops::reshape(g, Dims{g.numel()}));
  Tensors result(2);
  if (args.needs[0]) {
    const Tensor zeros = ops::zeros(source.sizes, g.dtype(), g.device());
    const Tensor kept =
        ops::as_strided_scatter(storage, zeros, piece.sizes, piece.strides, piece.offset - first);
    result[0] = ops::reshape(ops::index_select(kept, 0, places), g.sizes());
  }
  if (args.needs[1]) {
    result[1] = ops::to(
        ops::clone(ops::as_strided(storage, piece.sizes, piece.strides, piece.offset - first)), source.dtype);
  }
  return result;
}

// Each example gets a copy of its memory, in which everything keeps its place.
Tensors as_strided_scatter_batch(const BatchArgs& args) {
  check_source(args);
  const Tensor x = rules::with_batch(args, 0);
  const Layout single = rules::example_layout(x.layout());
  const Layout piece = as_strided_layout(single, args.attrs).front();
  const std::int64_t first = args.memory != nullptr ? args.memory->offset : 0;
  const std::int64_t end = args.memory != nullptr ? extent(rules::example_layout(*args.memory)).second
                                                  : std::max(extent(single).second, extent(piece).second);
  const Dim count = std::max<Dim>(end - first, 0);
  const Tensor memory =
      ops::clone(ops::as_strided(x, Dims{args.batch_size, count}, Dims{x.strides()[0], 1}, first));
  const auto within = [&](const Layout& layout) {
    return Layout{rules::prepend(args.batch_size, layout.sizes), rules::prepend(count, layout.strides),
                  layout.offset - first};
  };
  const Layout target = within(single), written = within(piece);
  return {ops::as_strided_scatter(ops::as_strided(memory, target.sizes, target.strides, target.offset),
                                  rules::with_batch(args, 1), written.sizes, written.strides,
                                  written.offset)};
}

// ---- Rows ----

template <ViewFn F>
Op scatter_row(const Op& view, std::string_view signature, std::string_view documentation,
               std::string_view example, VjpFn vjp, BatchFn batch, OnnxFn onnx) {
  return {.signature = Signature::parse(signature),
          .family = "shape",
          .documentation = documentation,
          .example = example,
          .infer = scatter_infer<F>,
          .vjp = vjp,
          .jvp = scatter_jvp,
          .batch = batch,
          .lowering = lowering::Scatter{&view},
          .traits = kCheapToRecompute,
          .onnx = onnx,
          .complex = ComplexRule::Moves};
}

}  // namespace

void add_view_scatter_ops(OpTable& table) {
  table.add(scatter_row<slice_layout>(
      table.at("slice"),
      "slice_scatter(x: tensor, src: tensor, dim: index = 0, start: int? = none, end: int? = none, step: "
      "int = 1)",
      "A copy of `x` with `x[start:end:step]` along `dim` replaced by `src`.",
      ">>> slice_scatter(zeros(4, dtype=i64), tensor([1, 2]), 0, 1, 3).tolist()\n[0, 1, 2, 0]",
      slice_scatter_vjp, along_dim_batch, onnx_rules::slice_scatter));
  table.add(scatter_row<select_layout>(
      table.at("select"), "select_scatter(x: tensor, src: tensor, dim: index, index: int)",
      "A copy of `x` with one index along `dim` replaced by `src`.",
      ">>> select_scatter(zeros(2, 2, dtype=i64), tensor([1, 2]), 0, 1).tolist()\n[[0, 0], [1, 2]]",
      select_scatter_vjp, along_dim_batch, onnx_rules::select_scatter));
  table.add(scatter_row<diagonal_layout>(
      table.at("diagonal"),
      "diagonal_scatter(x: tensor, src: tensor, offset: int = 0, dim1: index = 0, dim2: index = 1)",
      "A copy of `x` with a diagonal replaced by `src`.",
      ">>> diagonal_scatter(zeros(2, 2, dtype=i64), tensor([1, 2])).tolist()\n[[1, 0], [0, 2]]",
      diagonal_scatter_vjp, diagonal_scatter_batch, onnx_rules::diagonal_scatter));
  Op as_strided = scatter_row<as_strided_layout>(
      table.at("as_strided"),
      "as_strided_scatter(x: tensor, src: tensor, size: ints, stride: ints, storage_offset: int? = none)",
      "A copy of `x`, with its strides, in which the view with these sizes, strides and offset is `src`.",
      ">>> as_strided_scatter(zeros(4, dtype=i64), tensor([1, 2]), [2], [3]).tolist()\n[1, 0, 0, 2]",
      as_strided_scatter_vjp, nullptr, onnx_rules::as_strided_scatter);
  as_strided.jvp = Rule<JvpFn>::none("a tangent need not lie in memory as its primal does");
  as_strided.batch = as_strided_scatter_batch;
  as_strided.saves = saves_input(0);
  as_strided.traits |= kCountsPlaces;
  table.add(std::move(as_strided));
}

namespace ops {

Tensor slice_scatter(const Tensor& x, const Tensor& source, int dim, Dim start, Dim end, Dim step) {
  static const Op& row = op_named("slice_scatter");
  return apply_one(row, {x, source}, {std::int64_t{dim}, start, end, step});
}
Tensor select_scatter(const Tensor& x, const Tensor& source, int dim, Dim index) {
  static const Op& row = op_named("select_scatter");
  return apply_one(row, {x, source}, {std::int64_t{dim}, index});
}
Tensor diagonal_scatter(const Tensor& x, const Tensor& source, Dim offset, int dim1, int dim2) {
  static const Op& row = op_named("diagonal_scatter");
  return apply_one(row, {x, source}, {offset, std::int64_t{dim1}, std::int64_t{dim2}});
}
Tensor as_strided_scatter(const Tensor& x, const Tensor& source, Ints sizes, Ints strides, Dim offset) {
  static const Op& row = op_named("as_strided_scatter");
  return apply_one(row, {x, source}, {rules::to_dims(sizes), rules::to_dims(strides), offset});
}

}  // namespace ops
}  // namespace kiln
