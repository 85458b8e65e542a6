// Padding and diagonals.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tensor/host_view.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/view_layout.h"

namespace kiln {

void add_pad_ops(OpTable& table);

Margin margin_of(const Dims& pads, std::size_t rank, std::size_t dim) {
  const std::size_t pair = rank - 1 - dim;
  return 2 * pair < pads.size() ? Margin{pads[2 * pair], pads[2 * pair + 1]} : Margin{0, 0};
}

Dims padded_sizes(const TensorType& x, const Dims& pads) {
  if (pads.size() % 2 != 0 || pads.size() / 2 > x.sizes.size()) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("pad: {} is not a pair for each of some last dimensions of {}", to_string(pads),
                              to_string(x)),
                  {0});
  }
  Dims sizes = x.sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Margin margin = margin_of(pads, sizes.size(), d);
    // What is cut away first: neither sum leaves 64 bits before it is known that something is left.
    Dim left = x.sizes[d] + min(margin.before, 0);
    if (left >= 0) left += min(margin.after, 0);
    std::optional<Dim> size = left;
    for (const Dim added : {max(margin.before, 0), max(margin.after, 0)})
      size = size ? add_if_fits(*size, added) : size;
    if (left >= 0 && !size) {
      throw OpError(ErrorKind::Overflow,
                    fmt::format("pad: {} makes dimension {} of {} longer than 64 bits can say",
                                to_string(pads), d, to_string(x)),
                    {0});
    }
    if (left < 0) {
      throw OpError(ErrorKind::Shape,
                    fmt::format("pad: {} leaves dimension {} of {} with a negative size", to_string(pads), d,
                                to_string(x)),
                    {0});
    }
    sizes[d] = *size;
  }
  return sizes;
}

namespace {

using rules::apply_one;
using rules::dim_attr;

// ---- constant_pad ----

std::vector<TensorType> constant_pad_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_sizes(inputs[0], padded_sizes(inputs[0], attrs.get<Dims>("pad")))};
}
Tensor pad_zeros(const Op& op, const Tensor& x, const Dims& pads) {
  return apply_one(op, {x}, {pads, std::int64_t{0}});
}
Tensors constant_pad_vjp(const VjpArgs& args) {
  Dims cropped = args.attrs.get<Dims>("pad");
  for (Dim& pad : cropped) pad = -pad;
  return {pad_zeros(args.op, args.grads[0], cropped)};
}
Tensors constant_pad_jvp(const JvpArgs& args) {
  return {pad_zeros(args.op, args.tangents[0], args.attrs.get<Dims>("pad"))};
}

// ---- pad ----

using Source = Dim (*)(Dim place, Dim size);
Dim reflected(Dim place, Dim size) {
  return place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
}
Dim replicated(Dim place, Dim size) { return std::clamp<Dim>(place, 0, size - 1); }
Dim wrapped(Dim place, Dim size) { return (place % size + size) % size; }

struct PadMode {
  std::string_view name;
  Source source;  // null: constant
  Dim reach;      // how far beyond the edges it goes: `size - reach`; -1: any
};
constexpr PadMode kModes[] = {{"constant", nullptr, -1},
                              {"reflect", reflected, 1},
                              {"replicate", replicated, -1},
                              {"circular", wrapped, 0}};

const PadMode& mode_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("mode");
  for (const PadMode& mode : kModes) {
    if (mode.name == name) return mode;
  }
  throw OpError(
      ErrorKind::Value,
      fmt::format("pad: mode is \"constant\", \"reflect\", \"replicate\" or \"circular\", not \"{}\"", name));
}

// Which index of a dimension each index of the padded one takes.
Tensor source_index(const PadMode& mode, Margin margin, Dim size, Device device) {
  const Dim most = std::max(margin.before, margin.after);
  if (size == 0 || (mode.reach >= 0 && most > size - mode.reach)) {
    throw OpError(
        ErrorKind::Shape,
        fmt::format("pad: mode \"{}\" cannot pad a dimension of size {} by {}", mode.name, size, most), {0});
  }
  const std::int64_t padded = size + margin.before + margin.after;
  const Tensor index = Tensor::empty(Dims{padded}, DType::I64, device);
  const WritableHostView view(index);
  auto* const out = view.as<std::int64_t>();
  // What turns around does so with what negative margins leave.
  const bool turns = mode.source == wrapped;
  const Dim first = turns ? std::max<Dim>(-margin.before, 0) : 0;
  const Dim kept = turns ? size + std::min<Dim>(margin.before, 0) + std::min<Dim>(margin.after, 0) : size;
  Dim place = -margin.before - first;
  for (std::int64_t i = 0; i < padded; ++i) out[i] = first + mode.source(place++, std::max<Dim>(kept, 1));
  return index;
}

std::vector<TensorType> pad_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  if (mode_of(attrs).source != nullptr && attrs.has("value")) {
    throw OpError(ErrorKind::Value, "pad: a value is only for mode \"constant\"");
  }
  return {rules::with_sizes(inputs[0], padded_sizes(inputs[0], attrs.get<Dims>("pad")))};
}
Tensors pad_body(const Op&, Inputs inputs, const Attrs& attrs) {
  static const Op& constant = OpTable::get().at("constant_pad");
  const PadMode& mode = mode_of(attrs);
  const Dims& pads = attrs.get<Dims>("pad");
  if (mode.source == nullptr) {
    return {apply_one(constant, {inputs[0]},
                      {pads, attrs.has("value") ? attrs.at("value") : Attr(std::int64_t{0})})};
  }
  padded_sizes(inputs[0].type(), pads);
  Tensor result = inputs[0];
  for (int d = 0; d < result.rank(); ++d) {
    const Margin margin =
        margin_of(pads, static_cast<std::size_t>(result.rank()), static_cast<std::size_t>(d));
    if (margin.before == 0 && margin.after == 0) continue;
    const Tensor index = source_index(mode, margin, result.size(d), result.device());
    result = ops::index_select(result, d, index);
  }
  return {result.is_same(inputs[0]) ? ops::clone(result) : result};
}

// ---- diag, diag_embed ----

// Of a square matrix with a diagonal of `length`, `offset` away from the main one.
Dim side_of(std::string_view op, Dim length, Dim offset) {
  // The lowest int has no opposite.
  const auto side = offset < 0 ? add_if_fits(length - 1, -(offset + 1)) : add_if_fits(length, offset);
  const auto whole = side && offset < 0 ? add_if_fits(*side, 2) : side;
  if (!whole) {
    throw OpError(ErrorKind::Overflow,
                  fmt::format("{}: a diagonal at {} makes a matrix with longer sides than 64 bits can say",
                              op, offset));
  }
  return *whole;
}

struct Embedding {
  int dim1;
  int dim2;
  Dims sizes;
};
Embedding embedding_of(const Dims& from, const Attrs& attrs) {
  const int rank = static_cast<int>(from.size()) + 1;
  if (from.empty())
    throw OpError(ErrorKind::Shape, "diag_embed: expects at least 1 dimension, got a 0-d tensor", {0});
  Embedding result{dim_attr(attrs, "dim1", rank), dim_attr(attrs, "dim2", rank), {}};
  if (result.dim1 == result.dim2) {
    throw OpError(ErrorKind::Value, fmt::format("diag_embed: dim1 and dim2 are both {}", result.dim1));
  }
  const Dim side = side_of("diag_embed", from.back(), attrs.get<Dim>("offset"));
  auto next = from.begin();
  for (int d = 0; d < rank; ++d)
    result.sizes.push_back(d == result.dim1 || d == result.dim2 ? side : *next++);
  return result;
}
std::vector<TensorType> diag_embed_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {rules::with_sizes(inputs[0], embedding_of(inputs[0].sizes, attrs).sizes)};
}
Tensor embed(const Tensor& x, const Embedding& place, Dim offset) {
  const Tensor zeros = ops::zeros(place.sizes, x.dtype(), x.device());
  return ops::diagonal_scatter(zeros, x, offset, place.dim1, place.dim2);
}
Tensors diag_embed_body(const Op&, Inputs inputs, const Attrs& attrs) {
  return {embed(inputs[0], embedding_of(inputs[0].sizes(), attrs), attrs.get<std::int64_t>("offset"))};
}

std::vector<TensorType> diag_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const Dims& sizes = inputs[0].sizes;
  const Dim offset = attrs.get<Dim>("diagonal");
  if (sizes.size() == 1) {
    const Dim side = side_of("diag", sizes[0], offset);
    return {rules::with_sizes(inputs[0], Dims{side, side})};
  }
  if (sizes.size() == 2) {
    const Dim length = min(sizes[0] + std::min<Dim>(offset, 0), sizes[1] - std::max<Dim>(offset, 0));
    return {rules::with_sizes(inputs[0], Dims{std::max<Dim>(length, 0)})};
  }
  throw OpError(ErrorKind::Shape,
                fmt::format("diag: expects a vector or a matrix, got {}", to_string(inputs[0])), {0},
                "`diagonal` and `diag_embed` take any number of dimensions");
}
Tensors diag_body(const Op&, Inputs inputs, const Attrs& attrs) {
  const Dim offset = attrs.get<Dim>("diagonal");
  if (inputs[0].rank() == 2) return {ops::clone(ops::diagonal(inputs[0], offset))};
  const TensorType type = inputs[0].type();
  return {embed(inputs[0], {0, 1, diag_infer(std::span(&type, 1), attrs).front().sizes}, offset)};
}

}  // namespace

void add_pad_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("constant_pad(x: tensor, pad: ints, value: number = 0)"),
       .family = "shape",
       .documentation =
           "A copy with `value` around it: pairs of (before, after), the last dimension first. Negative "
           "numbers crop.",
       .example = ">>> constant_pad(tensor([1, 2]), [1, 2], 0).tolist()\n[0, 1, 2, 0, 0]",
       .infer = constant_pad_infer,
       .vjp = constant_pad_vjp,
       .jvp = constant_pad_jvp,
       .batch = rules::batch_through,
       .lowering = lowering::Gather{},
       .traits = kCheapToRecompute,
       .onnx = onnx_rules::constant_pad,
       .complex = ComplexRule::Moves});
  table.add(ops::shape_row(
      "pad(x: tensor, pad: ints, mode: str[\"constant\", \"reflect\", \"replicate\", \"circular\"] = "
      "\"constant\", value: number? = none)",
      "A larger copy: pairs of (before, after), the last dimension first. `mode` is \"constant\", "
      "\"reflect\", \"replicate\" or \"circular\".",
      ">>> arange(3).pad([1, 1], mode=\"reflect\").tolist()\n[1, 0, 1, 2, 1]", pad_infer, pad_body));
  table.add(
      ops::shape_row("diag(x: tensor, diagonal: int = 0)",
                     "Of a vector the matrix with it on the diagonal; of a matrix a copy of its diagonal.",
                     ">>> diag(tensor([1, 2])).tolist()\n[[1, 0], [0, 2]]", diag_infer, diag_body));
  table.add(ops::shape_row(
      "diag_embed(x: tensor, offset: int = 0, dim1: index = -2, dim2: index = -1)",
      "Matrices over `dim1` and `dim2` with the last dimension of `x` on their diagonals.",
      ">>> diag_embed(tensor([[1, 2]])).tolist()\n[[[1, 0], [0, 2]]]", diag_embed_infer, diag_embed_body));
}

}  // namespace kiln
