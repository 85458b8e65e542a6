// Views that pick elements: slices, diagonals, pieces of a split, windows, and any strides.
#include <fmt/format.h>

#include "tensor/how_many.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/view_layout.h"

namespace kiln {

void add_view_piece_ops(OpTable& table);

namespace {

using rules::apply_one;
using rules::dim_attr;
using rules::infer_view;
using rules::shift_dim;

constexpr std::uint32_t kViewTraits = kCheapToRecompute;

int inner_rank(const BatchArgs& args) { return args.inputs[0].rank() - 1; }
Tensor zeros_of(const TensorType& type) { return ops::zeros(type.sizes, type.dtype, type.device); }

// Shifts the dimension `dim` of the attributes past the batch and applies the op again.
Tensors batch_along_dim(const BatchArgs& args) {
  return kiln::bind(args.op, args.inputs, shift_dim(args.attrs, "dim", inner_rank(args)));
}

// ---- slice, narrow, select, diagonal ----

Range slice_range(const Attrs& attrs, std::size_t dim, std::span<const Dim> sizes) {
  const auto get = [&](std::string_view name) {
    const auto* value = attrs.find<Dim>(name);
    return value ? std::optional<Dim>(*value) : std::nullopt;
  };
  return clip_range(get("start"), get("end"), attrs.get<Dim>("step"), sizes[dim]);
}
Tensor slice_into(const Tensor& base, const Tensor& piece, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", base.rank());
  const Range range = slice_range(attrs, static_cast<std::size_t>(dim), base.sizes());
  return ops::slice_scatter(base, piece, dim, range.start, range.end, range.step);
}
Tensor slice_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return slice_into(base, updated, attrs);
}
Tensors slice_vjp(const VjpArgs& args) {
  return {slice_into(zeros_of(args.input_types[0]), args.grads[0], args.attrs)};
}

std::vector<TensorType> narrow_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  Dims sizes = inputs[0].sizes;
  const int dim = dim_attr(attrs, "dim", static_cast<int>(sizes.size()));
  if (sizes.empty()) throw OpError(ErrorKind::Shape, "narrow: a 0-d tensor has no dimension to narrow", {0});
  Dim& size = sizes[static_cast<std::size_t>(dim)];
  Dim start = attrs.get<Dim>("start");
  const Dim length = attrs.get<Dim>("length");
  if (start < 0) start += size;
  if (start < 0 || length < 0 || start > size || length > size - start) {
    throw OpError(ErrorKind::Index,
                  fmt::format("narrow: {} from {} on {} not lie within dimension {} of size {}",
                              how_many(length, "element"), attrs.get<std::int64_t>("start"),
                              length == 1 ? "does" : "do", dim, size),
                  {0});
  }
  size = length;
  return {rules::with_sizes(inputs[0], sizes)};
}
Tensors narrow_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const TensorType type = inputs[0].type();
  narrow_infer(std::span(&type, 1), attrs);
  const int dim = dim_attr(attrs, "dim", inputs[0].rank());
  Dim start = attrs.get<Dim>("start");
  if (start < 0) start += inputs[0].size(dim);
  return {ops::slice(inputs[0], dim, start, start + attrs.get<Dim>("length"))};
}

Tensor select_into(const Tensor& base, const Tensor& piece, const Attrs& attrs) {
  return ops::select_scatter(base, piece, dim_attr(attrs, "dim", base.rank()), attrs.get<Dim>("index"));
}
Tensor select_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return select_into(base, updated, attrs);
}
Tensors select_vjp(const VjpArgs& args) {
  return {select_into(zeros_of(args.input_types[0]), args.grads[0], args.attrs)};
}

Tensor diagonal_into(const Tensor& base, const Tensor& piece, const Attrs& attrs) {
  return ops::diagonal_scatter(base, piece, attrs.get<std::int64_t>("offset"),
                               dim_attr(attrs, "dim1", base.rank()), dim_attr(attrs, "dim2", base.rank()));
}
Tensor diagonal_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  return diagonal_into(base, updated, attrs);
}
Tensors diagonal_vjp(const VjpArgs& args) {
  return {diagonal_into(zeros_of(args.input_types[0]), args.grads[0], args.attrs)};
}
Tensors diagonal_batch(const BatchArgs& args) {
  const Attrs first = shift_dim(args.attrs, "dim1", inner_rank(args));
  Attrs both = first;
  both.set("dim2", std::int64_t{dim_attr(args.attrs, "dim2", inner_rank(args)) + 1});
  return kiln::bind(args.op, args.inputs, both);
}

// ---- split, chunk, unbind ----

Tensor piece_into(const Tensor& base, const Tensor& piece, const Attrs& attrs, const Dims& lengths,
                  int output) {
  Dim start = 0;
  for (int i = 0; i < output; ++i) start += lengths[static_cast<std::size_t>(i)];
  const Dim end = start + lengths[static_cast<std::size_t>(output)];
  return ops::slice_scatter(base, piece, dim_attr(attrs, "dim", base.rank()), start, end);
}
Dim size_along(const Tensor& base, const Attrs& attrs) {
  return base.size(dim_attr(attrs, "dim", base.rank()));
}

Tensor split_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int output) {
  return piece_into(base, updated, attrs,
                    split_lengths(attrs.get<Dims>("split_size"), size_along(base, attrs)), output);
}
Tensor chunk_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int output) {
  const Dims lengths = chunk_lengths(attrs.get<std::int64_t>("chunks"), size_along(base, attrs));
  return piece_into(base, updated, attrs, lengths, output);
}
Tensor unbind_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int output) {
  return ops::select_scatter(base, updated, dim_attr(attrs, "dim", base.rank()), output);
}
Tensors pieces_vjp(const VjpArgs& args) {
  const int rank = static_cast<int>(args.input_types[0].sizes.size());
  return {ops::cat(args.grads, dim_attr(args.attrs, "dim", rank))};
}
Tensors unbind_vjp(const VjpArgs& args) {
  if (args.grads.empty()) return {zeros_of(args.input_types[0])};
  const int rank = static_cast<int>(args.input_types[0].sizes.size());
  return {ops::stack(args.grads, dim_attr(args.attrs, "dim", rank))};
}

// ---- as_strided, unfold ----

// Every element's place in the storage, counted from `first` on.
Tensor places(const Layout& layout, std::int64_t first, std::int64_t count, Device device) {
  const Tensor line = rules::counting(count, device);
  return ops::reshape(ops::as_strided(line, layout.sizes, layout.strides, layout.offset - first), Dims{-1});
}

// Gradients are added up in the storage, then read back as the input lies in it. Where several elements of
// the input share a place, each gets an equal part.
Tensors as_strided_vjp(const VjpArgs& args) {
  const Layout input = args.inputs[0].layout();
  const Layout output = as_strided_layout(input, args.attrs).front();
  const auto [input_begin, input_end] = extent(input);
  const auto [output_begin, output_end] = extent(output);
  const std::int64_t begin = std::min(input_begin, output_begin);
  const std::int64_t count = std::max(input_end, output_end) - begin;
  const TensorType& type = args.input_types[0];
  Tensor storage = ops::zeros(Dims{count}, type.dtype, type.device);
  const Tensor flat = ops::reshape(args.grads[0], Dims{-1});
  storage = ops::index_add(storage, 0, places(output, begin, count, storage.device()), flat);
  const Tensor input_places = places(input, begin, count, storage.device());
  if (has_overlap(input)) {
    const Tensor ones = ops::ones(Dims{input_places.numel()}, type.dtype, type.device);
    const Tensor shared =
        ops::index_add(ops::zeros(Dims{count}, type.dtype, type.device), 0, input_places, ones);
    storage = storage / ops::clamp(shared, 1.0, std::nullopt);
  }
  return {ops::reshape(ops::index_select(storage, 0, input_places), type.sizes)};
}
Tensor as_strided_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  const Layout view = as_strided_layout(base.layout(), attrs).front();
  return ops::as_strided_scatter(base, updated, view.sizes, view.strides, view.offset);
}
Tensors as_strided_batch(const BatchArgs& args) {
  const Tensor& x = args.inputs[0];
  const Layout view = as_strided_layout(rules::example_layout(x.layout()), args.attrs).front();
  return {ops::as_strided(x, rules::prepend(args.batch_size, view.sizes),
                          rules::prepend(x.strides()[0], view.strides), view.offset)};
}

Tensor unfold_undo(const Tensor& base, const Tensor& updated, const Attrs& attrs, int) {
  const Layout view = unfold_layout(base.layout(), attrs).front();
  return ops::as_strided_scatter(base, updated, view.sizes, view.strides, view.offset);
}
Tensors unfold_vjp(const VjpArgs& args) {
  const TensorType& type = args.input_types[0];
  const int rank = static_cast<int>(type.sizes.size());
  const Dim size = args.attrs.get<Dim>("size");
  const Dim step = args.attrs.get<Dim>("step");
  if (rank == 0) return {ops::reshape(args.grads[0], Dims{})};
  const int dim = dim_attr(args.attrs, "dimension", rank);
  // Windows and places within them side by side, then added where they came from.
  Dims order;
  for (int i = 0; i < rank; ++i) {
    order.push_back(i);
    if (i == dim) order.push_back(rank);
  }
  Dims sizes = type.sizes;
  sizes[static_cast<std::size_t>(dim)] = -1;
  Dims flat_sizes = sizes;
  flat_sizes[static_cast<std::size_t>(dim)] = args.grads[0].size(dim) * size;
  const Tensor flat = ops::reshape(ops::permute(args.grads[0], order), flat_sizes);
  const Tensor line = rules::counting(type.sizes[static_cast<std::size_t>(dim)], type.device);
  const Tensor index = ops::reshape(ops::unfold(line, 0, size, step), Dims{args.grads[0].size(dim) * size});
  return {ops::index_add(zeros_of(type), dim, index, flat)};
}
Tensors unfold_batch(const BatchArgs& args) {
  if (inner_rank(args) == 0) {
    return {ops::as_strided(args.inputs[0], Dims{args.batch_size, args.attrs.get<std::int64_t>("size")},
                            Dims{args.inputs[0].strides()[0], 1}, args.inputs[0].offset())};
  }
  return kiln::bind(args.op, args.inputs, shift_dim(args.attrs, "dimension", inner_rank(args)));
}

// ---- Rows ----

void add_slicing(OpTable& table) {
  table.add({.signature = Signature::parse(
                 "slice(x: tensor, dim: index = 0, start: int? = none, end: int? = none, step: int = 1)"),
             .family = "shape",
             .documentation =
                 "A view of the indices from `start` to before `end` along `dim`, each `step`-th one: "
                 "`x[start:end:step]`. Out-of-range ends are clipped.",
             .example = ">>> arange(6).slice(0, 1, 5, 2).tolist()\n[1, 3]",
             .infer = infer_view<slice_layout>,
             .view = slice_layout,
             .undo = slice_undo,
             .vjp = slice_vjp,
             .jvp = rules::jvp_linear,
             .batch = batch_along_dim,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .onnx = onnx_rules::slice,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("narrow(x: tensor, dim: index, start: int, length: int)"),
             .family = "shape",
             .documentation = "A view of `length` indices from `start` on along `dim`.",
             .example = ">>> arange(6).narrow(0, 2, 3).tolist()\n[2, 3, 4]",
             .infer = narrow_infer,
             .decompose = narrow_body,
             .vjp = Rule<VjpFn>::none(kComposite),
             .jvp = Rule<JvpFn>::none(kComposite),
             .batch = Rule<BatchFn>::none(kComposite),
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("select(x: tensor, dim: index, index: int)"),
             .family = "shape",
             .documentation = "A view of one index along `dim`, without that dimension: `x[index]`.",
             .example = ">>> tensor([[1, 2], [3, 4]]).select(1, 0).tolist()\n[1, 3]",
             .infer = infer_view<select_layout>,
             .view = select_layout,
             .undo = select_undo,
             .vjp = select_vjp,
             .jvp = rules::jvp_linear,
             .batch = batch_along_dim,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .onnx = onnx_rules::select,
             .complex = ComplexRule::Moves});
  table.add({.signature =
                 Signature::parse("diagonal(x: tensor, offset: int = 0, dim1: index = 0, dim2: index = 1)"),
             .family = "shape",
             .documentation =
                 "A view of the diagonal over `dim1` and `dim2`, as the last dimension; `offset` above 0 "
                 "is above the main diagonal.",
             .example = ">>> tensor([[1, 2], [3, 4]]).diagonal().tolist()\n[1, 4]",
             .infer = infer_view<diagonal_layout>,
             .view = diagonal_layout,
             .undo = diagonal_undo,
             .vjp = diagonal_vjp,
             .jvp = rules::jvp_linear,
             .batch = diagonal_batch,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .onnx = onnx_rules::diagonal,
             .complex = ComplexRule::Moves});
}

void add_splitting(OpTable& table) {
  table.add({.signature = Signature::parse("split(x: tensor, split_size: dims, dim: index = 0)"),
             .family = "shape",
             .documentation =
                 "Views of consecutive pieces along `dim`: of `split_size` indices each, the last one maybe "
                 "shorter, or of the sizes in a list.",
             .example = ">>> [p.tolist() for p in arange(5).split(2)]\n[[0, 1], [2, 3], [4]]",
             .infer = infer_view<split_layout>,
             .view = split_layout,
             .undo = split_undo,
             .vjp = pieces_vjp,
             .jvp = rules::jvp_linear,
             .batch = batch_along_dim,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .outputs = kVariadic,
             .onnx = onnx_rules::split,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("chunk(x: tensor, chunks: int, dim: index = 0)"),
             .family = "shape",
             .documentation =
                 "Views of at most `chunks` pieces of equal size along `dim`, the last one maybe shorter.",
             .example = ">>> [p.tolist() for p in arange(5).chunk(2)]\n[[0, 1, 2], [3, 4]]",
             .infer = infer_view<chunk_layout>,
             .view = chunk_layout,
             .undo = chunk_undo,
             .vjp = pieces_vjp,
             .jvp = rules::jvp_linear,
             .batch = batch_along_dim,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .outputs = kVariadic,
             .onnx = onnx_rules::split,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("unbind(x: tensor, dim: index = 0)"),
             .family = "shape",
             .documentation = "Views of every index along `dim`, without that dimension.",
             .example = ">>> [p.tolist() for p in tensor([[1, 2], [3, 4]]).unbind()]\n[[1, 2], [3, 4]]",
             .infer = infer_view<unbind_layout>,
             .view = unbind_layout,
             .undo = unbind_undo,
             .vjp = unbind_vjp,
             .jvp = rules::jvp_linear,
             .batch = batch_along_dim,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .outputs = kVariadic,
             .onnx = onnx_rules::unbind,
             .complex = ComplexRule::Moves});
}

void add_windows(OpTable& table) {
  table.add({.signature = Signature::parse(
                 "as_strided(x: tensor, size: ints, stride: ints, storage_offset: int? = none)"),
             .family = "shape",
             .documentation =
                 "A view of the storage of `x` with any sizes, strides and offset, counted in elements. "
                 "An error when it reaches outside of the storage. `as_strided_` changes the tensor's own "
                 "layout.",
             .example = ">>> arange(5).as_strided([2, 3], [1, 1]).tolist()\n[[0, 1, 2], [1, 2, 3]]",
             .infer = infer_view<as_strided_layout>,
             .view = as_strided_layout,
             .undo = as_strided_undo,
             .vjp = as_strided_vjp,
             .jvp = Rule<JvpFn>::none("a tangent need not lie in memory as its primal does"),
             .batch = as_strided_batch,
             .saves = saves_input(0),
             .lowering = Lowering::View,
             .traits = kViewTraits | kInplace | kMetadataWrite | kCountsPlaces,
             .onnx = onnx_rules::as_strided,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("unfold(x: tensor, dimension: index, size: int, step: int)"),
             .family = "shape",
             .documentation =
                 "A view of all windows of `size` indices, `step` apart, along a dimension; the places "
                 "within a window are the last dimension.",
             .example = ">>> arange(5).unfold(0, 3, 2).tolist()\n[[0, 1, 2], [2, 3, 4]]",
             .infer = infer_view<unfold_layout>,
             .view = unfold_layout,
             .undo = unfold_undo,
             .vjp = unfold_vjp,
             .jvp = rules::jvp_linear,
             .batch = unfold_batch,
             .lowering = Lowering::View,
             .traits = kViewTraits,
             .onnx = onnx_rules::unfold,
             .complex = ComplexRule::Moves});
}

}  // namespace

void add_view_piece_ops(OpTable& table) {
  add_slicing(table);
  add_splitting(table);
  add_windows(table);
}

namespace ops {

Tensor select(const Tensor& x, int dim, Dim index) {
  static const Op& row = op_named("select");
  return apply_one(row, {x}, {std::int64_t{dim}, index});
}

Tensor slice(const Tensor& x, int dim, Dim start, Dim end, Dim step) {
  static const Op& row = op_named("slice");
  return apply_one(row, {x}, {std::int64_t{dim}, start, end, step});
}

Tensor narrow(const Tensor& x, int dim, Dim start, Dim length) {
  static const Op& row = op_named("narrow");
  return apply_one(row, {x}, {std::int64_t{dim}, start, length});
}

Tensor diagonal(const Tensor& x, Dim offset, int dim1, int dim2) {
  static const Op& row = op_named("diagonal");
  return apply_one(row, {x}, {offset, std::int64_t{dim1}, std::int64_t{dim2}});
}

Tensors split(const Tensor& x, Ints sizes, int dim) {
  static const Op& row = op_named("split");
  return rules::apply(row, Inputs(&x, 1), {rules::to_dims(sizes), std::int64_t{dim}});
}

Tensor as_strided(const Tensor& x, Ints sizes, Ints strides, Dim offset) {
  static const Op& row = op_named("as_strided");
  return apply_one(row, {x}, {rules::to_dims(sizes), rules::to_dims(strides), offset});
}

Tensor unfold(const Tensor& x, int dim, Dim size, Dim step) {
  static const Op& row = op_named("unfold");
  return apply_one(row, {x}, {std::int64_t{dim}, size, step});
}

}  // namespace ops
}  // namespace kiln
