// Views that keep every element: reshaping, reordering, adding and dropping dimensions.
#include <fmt/format.h>

#include <numeric>

#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln {

void add_view_piece_ops(OpTable& table);
void add_view_dtype_ops(OpTable& table);

namespace {

using rules::apply_one;
using rules::dim_attr;
using rules::infer_view;
using rules::prepend;

constexpr std::uint32_t kViewTraits = kCheapToRecompute;
constexpr std::uint32_t kWholeViewTraits = kViewTraits | kShowsAll;

// Rank without the batch.
int inner_rank(const BatchArgs& args) { return args.inputs[0].rank() - 1; }
Dims inner_sizes(const BatchArgs& args) {
  return Dims(args.inputs[0].sizes().begin() + 1, args.inputs[0].sizes().end());
}

// ---- view, reshape, flatten, unflatten ----

Tensor undo_by_reshape(const Tensor& base, const Tensor& updated, const Attrs&, int) {
  return ops::reshape(updated, base.sizes());
}
Tensors vjp_by_reshape(const VjpArgs& args) {
  return {ops::reshape(args.grads[0], args.input_types[0].sizes)};
}

Tensors view_batch(const BatchArgs& args) {
  const Dims sizes = resolve_sizes(args.attrs.get<Dims>("shape"), inner_sizes(args), "view");
  return {ops::reshape(args.inputs[0], prepend(args.batch_size, sizes))};
}

std::vector<TensorType> reshape_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_sizes(inputs[0],
                            resolve_sizes(attrs.get<Dims>("shape"), inputs[0].sizes, attrs.op()->name()))};
}
Tensors reshape_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {ops::reshape(inputs[0], attrs.get<Dims>("shape"))};
}

Dims flatten_sizes(std::span<const Dim> from, const Attrs& attrs) {
  const int rank = static_cast<int>(from.size());
  const int start = dim_attr(attrs, "start_dim", rank);
  const int end = dim_attr(attrs, "end_dim", rank);
  if (rank == 0) return Dims{1};
  if (start > end) {
    throw OpError(ErrorKind::Value, fmt::format("flatten: start_dim {} comes after end_dim {}", start, end));
  }
  Dims sizes(from.begin(), from.begin() + start);
  sizes.push_back(count_elements(
      from.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start + 1))));
  sizes.append(from.begin() + end + 1, from.end());
  return sizes;
}
std::vector<TensorType> flatten_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_sizes(inputs[0], flatten_sizes(inputs[0].sizes, attrs))};
}
Tensors flatten_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {ops::reshape(inputs[0], flatten_sizes(inputs[0].sizes(), attrs))};
}

Dims unflatten_sizes(std::span<const Dim> from, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", static_cast<int>(from.size()));
  if (from.empty())
    throw OpError(ErrorKind::Shape, "unflatten: a 0-d tensor has no dimension to take apart", {0});
  const Dim size = from[static_cast<std::size_t>(dim)];
  const Dims parts = resolve_sizes(attrs.get<Dims>("sizes"), std::span(&size, 1), "unflatten");
  Dims sizes(from.begin(), from.begin() + dim);
  sizes.append(parts.begin(), parts.end());
  sizes.append(from.begin() + dim + 1, from.end());
  return sizes;
}
std::vector<TensorType> unflatten_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_sizes(inputs[0], unflatten_sizes(inputs[0].sizes, attrs))};
}
Tensors unflatten_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {ops::view(inputs[0], unflatten_sizes(inputs[0].sizes(), attrs))};
}

// ---- permute, transpose, t, movedim ----

Dims inverse_permutation(const Dims& dims, int rank) {
  Dims inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    inverse[static_cast<std::size_t>(wrap_dim(dims[i], rank, "permute"))] = static_cast<Dim>(i);
  }
  return inverse;
}
Tensor permute_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return ops::permute(updated, inverse_permutation(attrs.get<Dims>("dims"), base.rank()));
}
Tensors permute_vjp(const VjpArgs& args) {
  return {
      ops::permute(args.grads[0], inverse_permutation(args.attrs.get<Dims>("dims"), args.grads[0].rank()))};
}
Tensors permute_batch(const BatchArgs& args) {
  Dims dims{0};
  for (const Dim dim : args.attrs.get<Dims>("dims"))
    dims.push_back(wrap_dim(dim, inner_rank(args), "permute") + 1);
  return {ops::permute(args.inputs[0], dims)};
}

Tensor transpose_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return ops::transpose(updated, dim_attr(attrs, "dim0", base.rank()), dim_attr(attrs, "dim1", base.rank()));
}
Tensors transpose_vjp(const VjpArgs& args) { return kiln::bind(args.op, args.grads, args.attrs); }
Tensors transpose_batch(const BatchArgs& args) {
  if (inner_rank(args) == 0) return {ops::view(args.inputs[0], args.inputs[0].sizes())};
  return {ops::transpose(args.inputs[0], dim_attr(args.attrs, "dim0", inner_rank(args)) + 1,
                         dim_attr(args.attrs, "dim1", inner_rank(args)) + 1)};
}

Tensor t_undo(const Tensor&, const Tensor& updated, const Attrs&, int) {
  return apply_one(op_named("t"), {updated});
}
Tensors t_batch(const BatchArgs& args) {
  if (inner_rank(args) == 2) return {ops::transpose(args.inputs[0], 1, 2)};
  return {ops::view(args.inputs[0], args.inputs[0].sizes())};
}

// The permutation that puts dimension source[i] at destination[i] and keeps the order of the others.
Dims movedim_order(int rank, const Attrs& attrs) {
  const Dims& source = attrs.get<Dims>("source");
  const Dims& destination = attrs.get<Dims>("destination");
  if (source.size() != destination.size()) {
    throw OpError(ErrorKind::Shape, fmt::format("movedim: {} source dimensions but {} destinations",
                                                source.size(), destination.size()));
  }
  Dims order(static_cast<std::size_t>(rank), -1);
  if (source.empty()) {
    std::iota(order.begin(), order.end(), Dim{0});
    return order;
  }
  wrap_dims(source, rank, "movedim");
  wrap_dims(destination, rank, "movedim");
  std::vector<bool> moved(static_cast<std::size_t>(rank), false);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const int from = wrap_dim(source[i], rank, "movedim");
    if (rank == 0) return order;
    order[static_cast<std::size_t>(wrap_dim(destination[i], rank, "movedim"))] = from;
    moved[static_cast<std::size_t>(from)] = true;
  }
  std::size_t next = 0;
  for (Dim& place : order) {
    if (place >= 0) continue;
    while (moved[next]) ++next;
    place = static_cast<Dim>(next++);
  }
  return order;
}
std::vector<TensorType> movedim_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  Dims sizes;
  for (const Dim dim : movedim_order(static_cast<int>(inputs[0].sizes.size()), attrs)) {
    sizes.push_back(inputs[0].sizes[static_cast<std::size_t>(dim)]);
  }
  return {rules::with_sizes(inputs[0], sizes)};
}
Tensors movedim_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {ops::permute(inputs[0], movedim_order(inputs[0].rank(), attrs))};
}

// ---- expand and its kin ----

// Every element that shares a place holds the same value after a well-defined write: the first one is taken.
Tensor expand_undo(const Tensor& base, const Tensor& updated, const Attrs&, int) {
  Tensor result = updated;
  while (result.rank() > base.rank()) result = ops::select(result, 0, 0);
  for (int i = 0; i < base.rank(); ++i) {
    if (base.size(i) == 1 && result.size(i) != 1) result = ops::slice(result, i, 0, 1);
  }
  return result;
}
Tensors expand_vjp(const VjpArgs& args) { return {ops::sum_to(args.grads[0], args.input_types[0].sizes)}; }
Tensors expand_batch(const BatchArgs& args) {
  const Dims sizes = expand_sizes(inner_sizes(args), args.attrs.get<Dims>("sizes"), "expand");
  return {ops::expand(rules::pad_rank(args.inputs[0], static_cast<int>(sizes.size())),
                      prepend(args.batch_size, sizes))};
}

std::vector<TensorType> broadcast_to_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {
      rules::with_sizes(inputs[0], expand_sizes(inputs[0].sizes, attrs.get<Dims>("size"), "broadcast_to"))};
}
Tensors broadcast_to_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {ops::expand(inputs[0], expand_sizes(inputs[0].sizes(), attrs.get<Dims>("size"), "broadcast_to"))};
}
std::vector<TensorType> like_other_infer(std::span<const TensorType> inputs, const Attrs&) {
  return {rules::with_sizes(inputs[0], inputs[1].sizes)};
}
Tensors expand_as_body(const Op&, Inputs inputs, const Attrs&) {
  return {ops::expand(inputs[0], inputs[1].sizes())};
}
Tensors view_as_body(const Op&, Inputs inputs, const Attrs&) {
  return {ops::view(inputs[0], inputs[1].sizes())};
}

// ---- squeeze, unsqueeze, detach ----

Tensors squeeze_batch(const BatchArgs& args) {
  const int rank = inner_rank(args);
  Dims dims;
  if (const Dims* asked = args.attrs.find<Dims>("dim")) {
    if (rank > 0 && !asked->empty()) dims = wrap_dims(*asked, rank, "squeeze");
  } else {
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  }
  for (Dim& dim : dims) ++dim;
  return {apply_one(args.op, {args.inputs[0]}, {dims})};
}
Tensor unsqueeze_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return ops::squeeze(updated, Dims{dim_attr(attrs, "dim", base.rank() + 1)});
}
Tensors unsqueeze_batch(const BatchArgs& args) {
  return {ops::unsqueeze(args.inputs[0], dim_attr(args.attrs, "dim", inner_rank(args) + 1) + 1)};
}

Tensor detach_undo(const Tensor&, const Tensor& updated, const Attrs&, int) { return updated; }

// ---- Rows ----

void add_reshaping(OpTable& table) {
  table.add({.signature = Signature::parse("view(x: tensor, shape: ints)"),
             .family = "shape",
             .documentation =
                 "The same elements in another shape, sharing memory. One size may be -1. An error where "
                 "strides do not allow it; `reshape` copies then.",
             .example = ">>> arange(6).view(2, -1).tolist()\n[[0, 1, 2], [3, 4, 5]]",
             .infer = infer_view<view_layout>,
             .view = view_layout,
             .undo = undo_by_reshape,
             .vjp = vjp_by_reshape,
             .jvp = rules::jvp_linear,
             .batch = view_batch,
             .lowering = Lowering::View,
             .traits = kWholeViewTraits,
             .onnx = onnx_rules::reshape,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("reshape(x: tensor, shape: ints)"),
             .family = "shape",
             .documentation =
                 "The same elements in another shape: a view where strides allow it, else a copy. One "
                 "size may be -1.",
             .example = ">>> arange(6).reshape(3, 2).tolist()\n[[0, 1], [2, 3], [4, 5]]",
             .infer = reshape_infer,
             .decompose = reshape_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .onnx = onnx_rules::reshape,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("flatten(x: tensor, start_dim: index = 0, end_dim: index = -1)"),
             .family = "shape",
             .documentation = "Joins the dimensions from `start_dim` to `end_dim` into one.",
             .example = ">>> zeros(2, 3, 4).flatten(1).shape\n(2, 12)",
             .infer = flatten_infer,
             .decompose = flatten_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .onnx = onnx_rules::reshape,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("unflatten(x: tensor, dim: index, sizes: ints)"),
             .family = "shape",
             .documentation = "A view with dimension `dim` taken apart into `sizes`, one of which may be -1.",
             .example = ">>> zeros(2, 12).unflatten(1, [3, -1]).shape\n(2, 3, 4)",
             .infer = unflatten_infer,
             .decompose = unflatten_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .onnx = onnx_rules::reshape,
             .complex = ComplexRule::Moves});
}

void add_reordering(OpTable& table) {
  table.add({.signature = Signature::parse("permute(x: tensor, dims: ints)"),
             .family = "shape",
             .documentation = "A view with the dimensions in the order `dims`.",
             .example = ">>> zeros(2, 3, 4).permute(2, 0, 1).shape\n(4, 2, 3)",
             .infer = infer_view<permute_layout>,
             .view = permute_layout,
             .undo = permute_undo,
             .vjp = permute_vjp,
             .jvp = rules::jvp_linear,
             .batch = permute_batch,
             .lowering = Lowering::View,
             .traits = kWholeViewTraits,
             .onnx = onnx_rules::permute,
             .complex = ComplexRule::Moves});
  table.add(
      {.signature = Signature::parse("transpose(x: tensor, dim0: index, dim1: index)"),
       .family = "shape",
       .documentation = "A view with two dimensions swapped. `transpose_` changes the tensor's own layout.",
       .example = ">>> zeros(2, 3, 4).transpose(0, 2).shape\n(4, 3, 2)",
       .infer = infer_view<transpose_layout>,
       .view = transpose_layout,
       .undo = transpose_undo,
       .vjp = transpose_vjp,
       .jvp = rules::jvp_linear,
       .batch = transpose_batch,
       .lowering = Lowering::View,
       .traits = kWholeViewTraits | kInplace | kMetadataWrite,
       .onnx = onnx_rules::transpose,
       .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("t(x: tensor)"),
             .family = "shape",
             .documentation =
                 "A view of a matrix with rows and columns swapped; vectors and numbers stay as they are.",
             .example = ">>> tensor([[1, 2], [3, 4]]).t().tolist()\n[[1, 3], [2, 4]]",
             .infer = infer_view<t_layout>,
             .view = t_layout,
             .undo = t_undo,
             .vjp = transpose_vjp,
             .jvp = rules::jvp_linear,
             .batch = t_batch,
             .lowering = Lowering::View,
             .traits = kWholeViewTraits | kInplace | kMetadataWrite,
             .onnx = onnx_rules::transpose,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("movedim(x: tensor, source: dims, destination: dims)"),
             .family = "shape",
             .documentation = "A view with dimensions moved to other places; the others keep their order.",
             .example = ">>> zeros(2, 3, 4).movedim(0, -1).shape\n(3, 4, 2)",
             .infer = movedim_infer,
             .decompose = movedim_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = ComplexRule::Moves});
}

void add_expanding(OpTable& table) {
  table.add({.signature = Signature::parse("expand(x: tensor, sizes: ints)"),
             .family = "shape",
             .documentation =
                 "A view in which dimensions of size 1 are repeated without copying; -1 keeps a size, and "
                 "new dimensions go in front. It cannot be written through.",
             .example = ">>> tensor([[1], [2]]).expand(-1, 3).tolist()\n[[1, 1, 1], [2, 2, 2]]",
             .infer = infer_view<expand_layout>,
             .view = expand_layout,
             .undo = expand_undo,
             .vjp = expand_vjp,
             .jvp = rules::jvp_linear,
             .batch = expand_batch,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .onnx = onnx_rules::expand,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("broadcast_to(x: tensor, size: ints)"),
             .family = "shape",
             .documentation = "A view broadcast to `size`; the same as `expand`.",
             .example = ">>> tensor([1, 2]).broadcast_to(2, 2).tolist()\n[[1, 2], [1, 2]]",
             .infer = broadcast_to_infer,
             .decompose = broadcast_to_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .onnx = onnx_rules::expand,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("expand_as(x: tensor, other: tensor)"),
             .family = "shape",
             .documentation = "A view expanded to the shape of `other`.",
             .example = ">>> tensor([1, 2]).expand_as(zeros(2, 2)).tolist()\n[[1, 2], [1, 2]]",
             .infer = like_other_infer,
             .decompose = expand_as_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("view_as(x: tensor, other: tensor)"),
             .family = "shape",
             .documentation = "A view in the shape of `other`.",
             .example = ">>> arange(4).view_as(zeros(2, 2)).tolist()\n[[0, 1], [2, 3]]",
             .infer = like_other_infer,
             .decompose = view_as_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = ComplexRule::Moves});
}

void add_squeezing(OpTable& table) {
  table.add({.signature = Signature::parse("squeeze(x: tensor, dim: dims? = none)"),
             .family = "shape",
             .documentation = "A view without the dimensions of size 1: all of them, or those named.",
             .example = ">>> zeros(1, 3, 1).squeeze(0).shape\n(3, 1)",
             .infer = infer_view<squeeze_layout>,
             .view = squeeze_layout,
             .undo = undo_by_reshape,
             .vjp = vjp_by_reshape,
             .jvp = rules::jvp_linear,
             .batch = squeeze_batch,
             .lowering = Lowering::View,
             .traits = kWholeViewTraits | kInplace | kMetadataWrite,
             .onnx = onnx_rules::squeeze,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("unsqueeze(x: tensor, dim: index)"),
             .family = "shape",
             .documentation = "A view with a new dimension of size 1 at `dim`.",
             .example = ">>> zeros(3).unsqueeze(-1).shape\n(3, 1)",
             .infer = infer_view<unsqueeze_layout>,
             .view = unsqueeze_layout,
             .undo = unsqueeze_undo,
             .vjp = vjp_by_reshape,
             .jvp = rules::jvp_linear,
             .batch = unsqueeze_batch,
             .lowering = Lowering::View,
             .traits = kWholeViewTraits | kInplace | kMetadataWrite,
             .onnx = onnx_rules::unsqueeze,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("detach(x: tensor)"),
             .family = "shape",
             .documentation = "A view that shares memory with `x` but not its history: gradients stop here.",
             .example = ">>> ones(2).requires_grad_().detach().requires_grad\nfalse",
             .infer = infer_view<detach_layout>,
             .view = detach_layout,
             .undo = detach_undo,
             .vjp = Rule<VjpFn>::none("detach cuts the history"),
             .jvp = Rule<JvpFn>::none("detach cuts the history"),
             .batch = rules::batch_through,
             .lowering = Lowering::View,
             .traits = kViewTraits | kStopsGradient,
             .onnx = onnx_rules::identity,
             .complex = ComplexRule::Moves});
}

}  // namespace

void add_view_ops(OpTable& table) {
  add_reshaping(table);
  add_reordering(table);
  add_expanding(table);
  add_squeezing(table);
  add_view_piece_ops(table);
  add_view_dtype_ops(table);
}

namespace ops {

Tensor view(const Tensor& x, Ints sizes) {
  static const Op& row = op_named("view");
  return apply_one(row, {x}, {rules::to_dims(sizes)});
}

Tensor reshape(const Tensor& x, Ints sizes) {
  const Dims resolved = resolve_sizes(sizes, x.sizes(), "reshape");
  return view(view_strides(x.layout(), resolved) ? x : clone(x), resolved);
}

Tensor permute(const Tensor& x, Ints dims) {
  static const Op& row = op_named("permute");
  return apply_one(row, {x}, {rules::to_dims(dims)});
}

Tensor transpose(const Tensor& x, int a, int b) {
  static const Op& row = op_named("transpose");
  return apply_one(row, {x}, {std::int64_t{a}, std::int64_t{b}});
}

Tensor expand(const Tensor& x, Ints sizes) {
  static const Op& row = op_named("expand");
  return apply_one(row, {x}, {rules::to_dims(sizes)});
}

Tensor squeeze(const Tensor& x, Ints dims) {
  static const Op& row = op_named("squeeze");
  return apply_one(row, {x}, {rules::to_dims(dims)});
}

Tensor unsqueeze(const Tensor& x, int dim) {
  static const Op& row = op_named("unsqueeze");
  return apply_one(row, {x}, {std::int64_t{dim}});
}

Tensor detach(const Tensor& x) {
  static const Op& row = op_named("detach");
  return apply_one(row, {x});
}

}  // namespace ops
}  // namespace kiln
