// Shape ops that copy: casts, joining, repeating, flipping.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/how_many.h"
#include "tensor/integers.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/view_layout.h"

namespace kiln {

void add_pad_ops(OpTable& table);
void add_view_scatter_ops(OpTable& table);

namespace {

using rules::apply_one;
using rules::dim_attr;

// ---- cast, to, clone, contiguous ----

std::vector<TensorType> cast_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_dtype(inputs[0], attrs.get<DType>("dtype"))};
}
Tensors cast_vjp(const VjpArgs& args) { return {ops::to(args.grads[0], args.input_types[0].dtype)}; }

std::vector<TensorType> to_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  TensorType type = rules::with_dtype(inputs[0], rules::dtype_attr(attrs, inputs[0].dtype));
  type.device = rules::device_attr(attrs, type.device);
  return {type};
}
Tensors to_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor cast = ops::to(inputs[0], rules::dtype_attr(attrs, inputs[0].dtype()));
  const Tensor same = ops::to(cast, rules::device_attr(attrs, cast.device()));
  return {attrs.get<bool>("copy") && same.is_same(inputs[0]) ? ops::clone(same) : same};
}

std::vector<TensorType> transfer_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  TensorType type = inputs[0];
  type.device = attrs.get<Device>("device");
  return {type};
}
Tensors transfer_vjp(const VjpArgs& args) { return {ops::to(args.grads[0], args.input_types[0].device)}; }

Tensors clone_vjp(const VjpArgs& args) { return {args.grads[0]}; }
Tensors contiguous_body(const Op&, Inputs inputs, const Attrs&) { return {ops::contiguous(inputs[0])}; }

// ---- cat, stack ----

TensorType cat_type(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs.empty()) throw OpError(ErrorKind::Value, "cat: expects at least one tensor");
  const auto first = std::find_if(inputs.begin(), inputs.end(),
                                  [](const TensorType& t) { return !is_skipped_by_cat(t.sizes); });
  TensorType result = rules::with_dtype(first == inputs.end() ? inputs[0] : *first, inputs[0].dtype);
  if (result.sizes.empty())
    throw OpError(ErrorKind::Shape, "cat: 0-d tensors cannot be joined", {0}, "use `stack`");
  const int dim = dim_attr(attrs, "dim", static_cast<int>(result.sizes.size()));
  Dim total = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.dtype = promote(result.dtype, inputs[i].dtype);
    if (is_skipped_by_cat(inputs[i].sizes)) continue;
    Dims sizes = inputs[i].sizes;
    if (sizes.size() == result.sizes.size()) {
      total += sizes[as_index(dim)];
      sizes[as_index(dim)] = result.sizes[as_index(dim)];
    }
    if (sizes != result.sizes) {
      throw OpError(ErrorKind::Shape,
                    fmt::format("cat: tensor {}, {}, differs from {} in more than dimension {}", i,
                                to_string(inputs[i]), to_string(*first), dim),
                    {static_cast<int>(first - inputs.begin()), static_cast<int>(i)});
    }
  }
  result.sizes[as_index(dim)] = total;
  return result;
}
std::vector<TensorType> cat_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {cat_type(inputs, attrs)};
}

Tensors cat_vjp(const VjpArgs& args) {
  Tensors result(args.input_types.size());
  const int dim = dim_attr(args.attrs, "dim", args.grads[0].rank());
  Dim start = 0;
  for (std::size_t i = 0; i < args.input_types.size(); ++i) {
    const TensorType& type = args.input_types[i];
    if (is_skipped_by_cat(type.sizes)) {
      if (args.needs[i]) result[i] = ops::zeros(type.sizes, type.dtype, type.device);
      continue;
    }
    const Dim length = type.sizes[as_index(dim)];
    if (args.needs[i]) result[i] = ops::to(ops::slice(args.grads[0], dim, start, start + length), type.dtype);
    start += length;
  }
  return result;
}
// Tangents that are absent are zeros of their primals' types.
Tensors joined_jvp(const JvpArgs& args) {
  Tensors tangents;
  for (std::size_t i = 0; i < args.tangents.size(); ++i) {
    tangents.push_back(args.tangents[i] ? args.tangents[i] : ops::zeros_like(args.inputs[i]));
  }
  return kiln::bind(args.op, tangents, args.attrs);
}
Tensors joined_batch(const BatchArgs& args, int extra) {
  Tensors inputs;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) inputs.push_back(rules::with_batch(args, i));
  return kiln::bind(args.op, inputs, rules::shift_dim(args.attrs, "dim", inputs[0].rank() - 1 + extra));
}
Tensors cat_batch(const BatchArgs& args) { return joined_batch(args, 0); }

TensorType stack_type(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (inputs.empty()) throw OpError(ErrorKind::Value, "stack: expects at least one tensor");
  TensorType result = rules::with_dtype(inputs[0], inputs[0].dtype);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.dtype = promote(result.dtype, inputs[i].dtype);
    if (inputs[i].sizes == inputs[0].sizes) continue;
    throw OpError(ErrorKind::Shape,
                  fmt::format("stack: all shapes must be equal, tensor 0 is {} and tensor {} is {}",
                              to_string(inputs[0]), i, to_string(inputs[i])),
                  {0, static_cast<int>(i)});
  }
  const int dim = dim_attr(attrs, "dim", static_cast<int>(result.sizes.size()) + 1);
  result.sizes.insert(result.sizes.begin() + dim, static_cast<Dim>(inputs.size()));
  return result;
}
std::vector<TensorType> stack_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {stack_type(inputs, attrs)};
}
Tensors stack_vjp(const VjpArgs& args) {
  Tensors result(args.input_types.size());
  const int dim = dim_attr(args.attrs, "dim", args.grads[0].rank());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!args.needs[i]) continue;
    result[i] = ops::to(ops::select(args.grads[0], dim, static_cast<Dim>(i)), args.input_types[i].dtype);
  }
  return result;
}
Tensors stack_batch(const BatchArgs& args) { return joined_batch(args, 1); }

// ---- flip, roll ----

std::vector<TensorType> flip_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dims& dims = attrs.get<Dims>("dims");
  if (!dims.empty()) wrap_dims(dims, static_cast<int>(inputs[0].sizes.size()), "flip");
  return rules::infer_same(inputs, attrs);
}
Tensors flip_vjp(const VjpArgs& args) { return kiln::bind(args.op, args.grads, args.attrs); }
Tensors flip_batch(const BatchArgs& args) {
  const Dims& dims = args.attrs.get<Dims>("dims");
  Dims shifted;
  const int rank = args.inputs[0].rank() - 1;
  if (!dims.empty() && rank > 0) shifted = wrap_dims(dims, rank, "flip");
  for (Dim& dim : shifted) ++dim;
  return {ops::flip(args.inputs[0], shifted)};
}

Tensor roll_along(const Tensor& x, int dim, Dim shift) {
  if (x.numel() == 0) return ops::clone(x);
  const Dim size = x.size(dim);
  const Dim start = ((-(shift % size)) % size + size) % size;
  if (start == 0) return ops::clone(x);
  const Tensor parts[] = {ops::slice(x, dim, start, size), ops::slice(x, dim, 0, start)};
  return ops::cat(parts, dim);
}
std::vector<TensorType> roll_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dims& shifts = attrs.get<Dims>("shifts");
  const Dims* dims = attrs.find<Dims>("dims");
  if (!dims ? shifts.size() != 1 : shifts.size() != dims->size()) {
    throw OpError(ErrorKind::Shape, fmt::format("roll: {} but {}", how_many(shifts.size(), "shift"),
                                                how_many(dims ? dims->size() : 1, "dimension")));
  }
  return rules::infer_same(inputs, attrs);
}
Tensors roll_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const Dims& shifts = attrs.get<Dims>("shifts");
  const Dims* dims = attrs.find<Dims>("dims");
  if (!dims) {
    const Tensor flat = roll_along(ops::reshape(x, Dims{x.numel()}), 0, shifts[0]);
    return {as_no_view(ops::reshape(flat, x.sizes()))};
  }
  Tensor result = x;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const int dim = wrap_dim((*dims)[i], x.rank(), "roll");
    if (x.rank() > 0) result = roll_along(result, dim, shifts[i]);
  }
  return {result.is_same(x) ? ops::clone(x) : result};
}

// ---- repeat, tile, repeat_interleave ----

// Sizes with ones in front, and those of the repeated tensor.
void check_repeats(const Dims& sizes, const Dims& repeats, std::string_view name) {
  if (repeats.size() < sizes.size()) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("{}: {} for a tensor of {}", name, how_many(repeats.size(), "repeat"),
                              how_many(sizes.size(), "dimension")),
                  {0});
  }
  for (const Dim count : repeats) {
    if (count < 0)
      throw OpError(ErrorKind::Value, fmt::format("{}: {} has a negative count", name, to_string(repeats)));
  }
}
Dims in_front(const Dims& sizes, std::size_t rank) {
  Dims result(rank - std::min(rank, sizes.size()), 1);
  result.append(sizes.begin(), sizes.end());
  return result;
}
Dims repeated_sizes(const Dims& sizes, const Dims& repeats) {
  Dims result = in_front(sizes, repeats.size());
  // A count may be larger than any size.
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = count_elements(Dims{result[i], repeats[i]});
  return result;
}
Dims tile_repeats(const Dims& sizes, const Attrs& attrs) {
  return in_front(attrs.get<Dims>("dims"), sizes.size());
}

// Every dimension gets one before it that is expanded; one copy joins the two.
Tensor repeated(const Tensor& x, const Dims& repeats) {
  Dims apart;
  Dims wide;
  const Dims sizes = in_front(x.sizes(), repeats.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    apart.push_back(1);
    apart.push_back(sizes[i]);
    wide.push_back(repeats[i]);
    wide.push_back(sizes[i]);
  }
  return as_no_view(
      ops::view(ops::clone(ops::expand(ops::reshape(x, apart), wide)), repeated_sizes(x.sizes(), repeats)));
}
std::vector<TensorType> repeat_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  check_repeats(inputs[0].sizes, attrs.get<Dims>("repeats"), "repeat");
  return {rules::with_sizes(inputs[0], repeated_sizes(inputs[0].sizes, attrs.get<Dims>("repeats")))};
}
Tensors repeat_body(const Op&, Inputs inputs, const Attrs& attrs) {
  check_repeats(inputs[0].sizes(), attrs.get<Dims>("repeats"), "repeat");
  return {repeated(inputs[0], attrs.get<Dims>("repeats"))};
}
std::vector<TensorType> tile_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dims repeats = tile_repeats(inputs[0].sizes, attrs);
  check_repeats(inputs[0].sizes, repeats, "tile");
  return {rules::with_sizes(inputs[0], repeated_sizes(inputs[0].sizes, repeats))};
}
Tensors tile_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Dims repeats = tile_repeats(inputs[0].sizes(), attrs);
  check_repeats(inputs[0].sizes(), repeats, "tile");
  return {repeated(inputs[0], repeats)};
}

// The tensor and the dimension that interleaving works on: without a dimension, the flat tensor.
std::pair<Tensor, int> interleave_target(const Tensor& x, const Attrs& attrs) {
  if (!attrs.has("dim")) return {ops::reshape(x, Dims{x.numel()}), 0};
  const int dim = dim_attr(attrs, "dim", x.rank());
  return {x.rank() == 0 ? ops::reshape(x, Dims{1}) : x, dim};
}
Dims interleaved_sizes(const TensorType& x, const Attrs& attrs) {
  if (!attrs.has("dim")) return {count_elements(x.sizes)};
  dim_attr(attrs, "dim", static_cast<int>(x.sizes.size()));
  return x.sizes.empty() ? Dims{1} : x.sizes;
}
std::vector<TensorType> repeat_interleave_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dim repeats = attrs.get<Dim>("repeats");
  if (repeats < 0) {
    throw OpError(ErrorKind::Value,
                  fmt::format("repeat_interleave: repeats must not be negative, it is {}", repeats));
  }
  Dims sizes = interleaved_sizes(inputs[0], attrs);
  Dim& size = sizes[attrs.has("dim") ? as_index(dim_attr(attrs, "dim", static_cast<int>(sizes.size()))) : 0];
  size = count_elements(Dims{size, repeats});
  return {rules::with_sizes(inputs[0], sizes)};
}
Tensors repeat_interleave_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const TensorType type = inputs[0].type();
  const Dims result = repeat_interleave_infer(std::span(&type, 1), attrs).front().sizes;
  const auto [x, dim] = interleave_target(inputs[0], attrs);
  Dims wide = x.sizes();
  wide.insert(wide.begin() + dim + 1, attrs.get<Dim>("repeats"));
  return {ops::view(ops::clone(ops::expand(ops::unsqueeze(x, dim + 1), wide)), result)};
}
std::vector<TensorType> repeat_interleave_tensor_infer(std::span<const TensorType> inputs,
                                                       const Attrs& attrs) {
  rules::check_index_dtype(inputs[1], "repeat_interleave", 1);
  Dims sizes = interleaved_sizes(inputs[0], attrs);
  const std::size_t dim =
      attrs.has("dim") ? as_index(dim_attr(attrs, "dim", static_cast<int>(sizes.size()))) : 0;
  const Dims& counts = inputs[1].sizes;
  if (counts.size() > 1 || (count_elements(counts) != 1 && counts[0] != sizes[dim])) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("repeat_interleave: {} counts do not fit a dimension of size {}",
                              to_string(inputs[1]), sizes[dim]),
                  {0, 1});
  }
  sizes[dim] = -1;
  return {rules::with_sizes(inputs[0], sizes)};
}

// Which index each element of the repeated tensor has: `repeats[i]` times i.
std::vector<TensorType> repeat_counts_infer(std::span<const TensorType> inputs, const Attrs&) {
  rules::check_index_dtype(inputs[0], "repeat_interleave", 0);
  if (inputs[0].sizes.size() != 1) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("repeat_interleave: the counts must be a vector, they are {}", to_string(inputs[0])),
        {0});
  }
  return {{DType::I64, inputs[0].device, Dims{-1}}};
}

// The counts are operand 1 here, and operand 0 of the op that makes an index of them.
Tensors repeat_interleave_tensor_body(const Op&, Inputs inputs, const Attrs& attrs) {
  static const Op& places = OpTable::get().at("repeat_interleave.counts");
  const auto [x, dim] = interleave_target(inputs[0], attrs);
  const Tensor counts = ops::expand(inputs[1], Dims{x.size(dim)});
  try {
    return {ops::index_select(x, dim, rules::apply_one(places, {counts}))};
  } catch (const OpError& error) {
    throw OpError(error.kind(), error.message(), {1}, error.help());
  }
}

// ---- Rows ----

void add_copying(OpTable& table) {
  table.add({.signature = Signature::parse("cast(x: tensor, dtype: dtype)"),
             .family = "shape",
             .documentation = "A copy with another dtype. Floats become integers by dropping the fraction.",
             .example = ">>> cast(tensor([1.7, -1.7]), i32).tolist()\n[1, -1]",
             .infer = cast_infer,
             .vjp = cast_vjp,
             .jvp = rules::jvp_linear,
             .batch = rules::batch_through,
             .lowering = Lowering::Pointwise,
             .identity = {Identity::Kind::CastBack},
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::cast,
             .complex = complex_rules::cast});
  table.add(
      {.signature = Signature::parse("clone(x: tensor)"),
       .family = "shape",
       .documentation = "A copy with its own memory, contiguous.",
       .example = ">>> x = ones(2)\n>>> y = x.clone()\n>>> y.fill_(0).sum().item() + x.sum().item()\n2.0",
       .infer = rules::infer_same,
       .vjp = clone_vjp,
       .jvp = rules::jvp_linear,
       .batch = rules::batch_through,
       .lowering = Lowering::Pointwise,
       .identity = {Identity::Kind::FirstOperand},
       .traits = kCheapToRecompute,
       .onnx = onnx_rules::identity,
       .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("transfer(x: tensor, device: device)"),
             .family = "shape",
             .documentation = "The elements on that device: what `to` does between two devices.",
             .example = ">>> ones(1).transfer(cpu).tolist()\n[1.0]",
             .infer = transfer_infer,
             .vjp = transfer_vjp,
             .jvp = rules::jvp_linear,
             .batch = rules::batch_through,
             .lowering = Lowering::Library,
             .onnx = onnx_rules::identity,
             .complex = ComplexRule::Moves});
  table.add(
      ops::shape_row("to(x: tensor, dtype: dtype? = none, device: device? = none, *, copy: bool = false)",
                     "`x` with another dtype or on another device; `x` itself when nothing changes.",
                     ">>> tensor([1, 2]).to(f32).tolist()\n[1.0, 2.0]", to_infer, to_body, onnx_rules::cast));
  table.add(
      ops::shape_row("to.device(x: tensor, device: device, dtype: dtype? = none, *, copy: bool = false)",
                     "`x` on another device; `x` itself when nothing changes.",
                     ">>> ones(1).to(cpu).tolist()\n[1.0]", to_infer, to_body, onnx_rules::cast));
  table.add(ops::shape_row("contiguous(x: tensor)",
                           "`x` itself when its elements lie in order without gaps, else a copy that does.",
                           ">>> zeros(2, 3).t().contiguous().stride()\n(2, 1)", rules::infer_same,
                           contiguous_body, onnx_rules::identity));
}

void add_joining(OpTable& table) {
  table.add({.signature = Signature::parse("cat(tensors: tensors, dim: index = 0)"),
             .family = "shape",
             .documentation = "Tensors one after the other along `dim`; other sizes are equal.",
             .example = ">>> cat([tensor([1, 2]), tensor([3])]).tolist()\n[1, 2, 3]",
             .infer = cat_infer,
             .vjp = cat_vjp,
             .jvp = joined_jvp,
             .batch = cat_batch,
             .lowering = lowering::Gather{},
             .identity = {Identity::Kind::OnlyPiece},
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::cat,
             .complex = ComplexRule::Moves});
  table.add({.signature = Signature::parse("stack(tensors: tensors, dim: index = 0)"),
             .family = "shape",
             .documentation = "Tensors of one shape side by side along a new dimension.",
             .example = ">>> stack([tensor([1, 2]), tensor([3, 4])]).tolist()\n[[1, 2], [3, 4]]",
             .infer = stack_infer,
             .vjp = stack_vjp,
             .jvp = joined_jvp,
             .batch = stack_batch,
             .lowering = lowering::Gather{},
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::stack,
             .complex = ComplexRule::Moves});
}

void add_repeating(OpTable& table) {
  table.add({.signature = Signature::parse("flip(x: tensor, dims: ints)"),
             .family = "shape",
             .documentation = "A copy with the order along `dims` reversed.",
             .example = ">>> arange(3).flip(0).tolist()\n[2, 1, 0]",
             .infer = flip_infer,
             .vjp = flip_vjp,
             .jvp = rules::jvp_linear,
             .batch = flip_batch,
             .lowering = lowering::Gather{},
             .traits = kCheapToRecompute,
             .onnx = onnx_rules::flip,
             .complex = ComplexRule::PartByPart});
  table.add(ops::shape_row(
      "roll(x: tensor, shifts: dims, dims: dims? = none)",
      "A copy moved along `dims`, what leaves at one end coming in at the other; without dims, the flat "
      "tensor.",
      ">>> arange(4).roll(1).tolist()\n[3, 0, 1, 2]", roll_infer, roll_body));
  table.add(ops::shape_row(
      "repeat(x: tensor, repeats: ints)",
      "A copy with `x` repeated along every dimension; more counts than dimensions add some in front.",
      ">>> tensor([1, 2]).repeat(2, 2).tolist()\n[[1, 2, 1, 2], [1, 2, 1, 2]]", repeat_infer, repeat_body));
  table.add(ops::shape_row("tile(x: tensor, dims: ints)",
                           "A copy with `x` repeated along the last dimensions, as often as `dims` says.",
                           ">>> tensor([[1, 2]]).tile(2).tolist()\n[[1, 2, 1, 2]]", tile_infer, tile_body));
  table.add(ops::shape_row(
      "repeat_interleave(x: tensor, repeats: int, dim: index? = none)",
      "A copy with every index along `dim` (without it, every element of the flat tensor) `repeats` "
      "times in a row.",
      ">>> tensor([1, 2]).repeat_interleave(2).tolist()\n[1, 1, 2, 2]", repeat_interleave_infer,
      repeat_interleave_body));
  Op by_tensor = ops::shape_row("repeat_interleave.tensor(x: tensor, repeats: tensor, dim: index? = none)",
                                "Likewise with a count for each index.",
                                ">>> tensor([5, 6]).repeat_interleave(tensor([1, 2])).tolist()\n[5, 6, 6]",
                                repeat_interleave_tensor_infer, repeat_interleave_tensor_body);
  by_tensor.traits = kDataDependent;
  by_tensor.onnx = OnnxRule::none(onnx_rules::kNoGraph);
  by_tensor.effects = kMayFail;
  table.add(std::move(by_tensor));
  Op counts = ops::shape_row(
      "repeat_interleave.counts(repeats: tensor)",
      "The indices that many times in a row: of what `repeat_interleave` of a tensor would take.",
      ">>> repeat_interleave(tensor([1, 2])).tolist()\n[0, 1, 1]", repeat_counts_infer, nullptr);
  counts.vjp = Rule<VjpFn>::none("integers have no derivative");
  counts.jvp = Rule<JvpFn>::none("integers have no derivative");
  counts.batch = Rule<BatchFn>::none("the number of indices differs between the examples of a batch");
  counts.lowering = Lowering::Library;
  counts.traits = kDataDependent | kStopsGradient;
  counts.onnx = OnnxRule::none(onnx_rules::kNoGraph);
  counts.effects = kMayFail;
  table.add(std::move(counts));
}

}  // namespace

namespace ops {

Op shape_row(std::string_view signature, std::string_view documentation, std::string_view example,
             InferFn infer, BodyFn body, OnnxRule onnx) {
  return {.signature = Signature::parse(signature),
          .family = "shape",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = body,
          .vjp = Rule<VjpFn>::none(kComposite),
          .jvp = Rule<JvpFn>::none(kComposite),
          .batch = Rule<BatchFn>::none(kComposite),
          .onnx = onnx,
          .complex = ComplexRule::Moves};
}

}  // namespace ops

Tensor as_no_view(Tensor made) {
  made.impl()->origin = nullptr;
  return made;
}

void add_shape_ops(OpTable& table) {
  add_copying(table);
  add_joining(table);
  add_repeating(table);
  add_pad_ops(table);
  add_view_scatter_ops(table);
}

namespace ops {

Tensor to(const Tensor& x, DType dtype) {
  static const Op& row = op_named("cast");
  return x.dtype() == dtype && !x.is_number() ? x : apply_one(row, {x}, {dtype});
}
Tensor to(const Tensor& x, Device device) {
  static const Op& row = op_named("transfer");
  return x.device() == device ? x : apply_one(row, {x}, {device});
}
Tensor clone(const Tensor& x) {
  static const Op& row = op_named("clone");
  return apply_one(row, {x});
}
Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : clone(x); }
Tensor cat(Inputs tensors, int dim) {
  static const Op& row = op_named("cat");
  return apply_one(row, tensors, {std::int64_t{dim}});
}
Tensor stack(Inputs tensors, int dim) {
  static const Op& row = op_named("stack");
  return apply_one(row, tensors, {std::int64_t{dim}});
}
Tensor flip(const Tensor& x, Ints dims) {
  static const Op& row = op_named("flip");
  return apply_one(row, {x}, {rules::to_dims(dims)});
}

}  // namespace ops
}  // namespace kiln
