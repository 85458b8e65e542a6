// Orders: sort, argsort, topk, searchsorted.
#include <fmt/format.h>

#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/sort.h"

namespace kiln {

void add_sort_ops(OpTable& table);

bool searches_right(const Attrs& attrs) {
  const auto* side = attrs.find<std::string>("side");
  const bool right = attrs.get<bool>("right");
  if (side == nullptr) return right;
  if (*side != "left" && *side != "right") {
    throw OpError(ErrorKind::Value,
                  fmt::format("searchsorted: side is \"left\" or \"right\", not \"{}\"", *side));
  }
  if (*side == "left" && right)
    throw OpError(ErrorKind::Value, "searchsorted: side is \"left\" but right is true");
  return *side == "right";
}

Tensor ordered_sequence(const Tensor& sequence, const Tensor& sorter) {
  return sorter ? ops::gather(sequence, sequence.rank() - 1, sorter) : sequence;
}

DType search_dtype(const Tensor& sequence, const Tensor& values) {
  const bool rounds = values.is_number() && is_float(values.dtype()) && is_float(sequence.dtype());
  return rounds ? sequence.dtype() : promote(sequence.dtype(), values.dtype());
}

namespace {

using rules::apply_one;
using rules::dim_attr;

constexpr std::string_view kIntegers = "integers have no derivative";

int rank_of(const TensorType& type) { return static_cast<int>(type.sizes.size()); }

// ---- sort, argsort ----

std::vector<TensorType> sort_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  dim_attr(attrs, "dim", rank_of(inputs[0]));
  return {rules::with_dtype(inputs[0], inputs[0].dtype), rules::with_dtype(inputs[0], DType::I64)};
}
std::vector<TensorType> argsort_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return {sort_infer(inputs, attrs)[1]};
}

// Each gradient goes back to where its value came from.
Tensors permuted_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  const int dim = dim_attr(args.attrs, "dim", rank_of(x));
  return {ops::scatter(ops::zeros(x.sizes, x.dtype, x.device), dim, args.outputs[1], args.grads[0])};
}
Tensors permuted_jvp(const JvpArgs& args) {
  const int dim = dim_attr(args.attrs, "dim", args.inputs[0].rank());
  return {ops::gather(args.tangents[0], dim, args.outputs[1]), {}};
}
Tensors along_dim_batch(const BatchArgs& args) {
  const Tensor& x = args.inputs[0];
  if (x.rank() > 1)
    return kiln::bind(args.op, args.inputs, rules::shift_dim(args.attrs, "dim", x.rank() - 1));
  const Tensor column[] = {ops::unsqueeze(x, 1)};
  Tensors outputs = kiln::bind(args.op, column, rules::shift_dim(args.attrs, "dim", 1));
  for (Tensor& output : outputs) output = ops::squeeze(output, Dims{1});
  return outputs;
}

// ---- topk ----

std::vector<TensorType> topk_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const int dim = dim_attr(attrs, "dim", rank_of(inputs[0]));
  Dims sizes = inputs[0].sizes;
  const Dim k = attrs.get<Dim>("k");
  const Dim size = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dim)];
  if (k < 0 || k > size) {
    throw OpError(ErrorKind::Value,
                  fmt::format("topk: k is {}, dimension {} of {} has {}", k, dim, to_string(inputs[0]), size),
                  {0});
  }
  if (!sizes.empty()) sizes[static_cast<std::size_t>(dim)] = k;
  return {rules::with_sizes(inputs[0], sizes),
          rules::with_dtype(rules::with_sizes(inputs[0], sizes), DType::I64)};
}

// ---- searchsorted ----

std::vector<TensorType> searchsorted_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  searches_right(attrs);
  const Dims& sorted = inputs[0].sizes;
  const Dims& values = inputs[1].sizes;
  const bool lines = sorted.size() > 1 && sorted.size() == values.size() &&
                     std::equal(sorted.begin(), sorted.end() - 1, values.begin());
  if (sorted.size() != 1 && !lines) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("searchsorted: expects a sorted vector, or equal leading sizes, got {} and {}",
                              to_string(inputs[0]), to_string(inputs[1])),
                  {0, 1});
  }
  const bool has_sorter = !inputs[2].is_number;
  if (has_sorter) rules::check_index_dtype(inputs[2], "searchsorted", 2);
  if (has_sorter && inputs[2].sizes != sorted) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("searchsorted: the sorter {} does not fit {}", to_string(inputs[2]),
                              to_string(inputs[0])),
                  {0, 2});
  }
  return {{attrs.get<bool>("out_int32") ? DType::I32 : DType::I64, inputs[0].device, values}};
}
Tensors searchsorted_batch(const BatchArgs& args) {
  // One line per example: values become a vector of it.
  const bool alike = !args.batched[0] && !args.batched[2];
  if (alike && args.inputs[0].rank() == 1) return kiln::bind(args.op, args.inputs, args.attrs);
  Tensor values = rules::with_batch(args, 1);
  if (args.inputs[1].is_number()) values = ops::to(values, search_dtype(args.inputs[0], args.inputs[1]));
  const Tensor sorted =
      ordered_sequence(rules::with_batch(args, 0), args.inputs[2] ? rules::with_batch(args, 2) : Tensor());
  const bool vector = sorted.rank() == 2;
  const Dims flat{args.batch_size, args.batch_size == 0 ? 0 : values.numel() / args.batch_size};
  const Tensor inputs[] = {sorted, vector ? ops::reshape(values, flat) : values, Tensor()};
  return {ops::reshape(kiln::bind(args.op, inputs, args.attrs).front(), values.sizes())};
}

Op order_row(std::string_view signature, std::string_view documentation, std::string_view example) {
  return {.signature = Signature::parse(signature),
          .family = "index",
          .documentation = documentation,
          .example = example,
          .vjp = permuted_vjp,
          .jvp = permuted_jvp,
          .batch = along_dim_batch,
          .saves = saves_output(1),
          .lowering = Lowering::Library,
          .outputs = 2};
}

}  // namespace

void add_sort_ops(OpTable& table) {
  Op sort = order_row(
      "sort(x: tensor, dim: index = -1, descending: bool = false, stable: bool = true) -> (values, indices)",
      "The elements along `dim` in order, and the index each had. NaN counts as the greatest; equal elements "
      "keep their order.",
      ">>> (values, indices) = sort(tensor([3, 1, 2]))\n>>> values.tolist(), indices.tolist()\n([1, 2, 3], "
      "[1, 2, 0])");
  sort.infer = sort_infer;
  sort.onnx = onnx_rules::sort;
  table.add(std::move(sort));
  Op topk = order_row(
      "topk(x: tensor, k: int, dim: index = -1, largest: bool = true, sorted: bool = true) -> (values, "
      "indices)",
      "The `k` largest (or smallest) elements along `dim`, best first, and the index each had.",
      ">>> topk(tensor([3, 1, 2]), 2)[0].tolist()\n[3, 2]");
  topk.infer = topk_infer;
  topk.onnx = onnx_rules::topk;
  table.add(std::move(topk));
  table.add(
      {.signature = Signature::parse("argsort(x: tensor, dim: index = -1, descending: bool = false, stable: "
                                     "bool = true) -> (values, indices)"),
       .family = "index",
       .documentation = "The indices that put the elements along `dim` in order; equal ones keep theirs.",
       .example = ">>> argsort(tensor([3, 1, 2])).tolist()\n[1, 2, 0]",
       .infer = argsort_infer,
       .vjp = Rule<VjpFn>::none(kIntegers),
       .jvp = Rule<JvpFn>::none(kIntegers),
       .batch = along_dim_batch,
       .lowering = Lowering::Library,
       .traits = kStopsGradient,
       .onnx = onnx_rules::sort});
  table.add({.signature = Signature::parse(
                 "searchsorted(sorted_sequence: tensor, values: tensor, *, out_int32: bool = false, "
                 "right: bool = false, side: str? = none, sorter: tensor? = none)"),
             .family = "index",
             .documentation =
                 "Where each value would have to go into a sorted vector (or the line of its "
                 "own row): before equal "
                 "elements, or after them when `right` or side=\"right\". With a `sorter`, which `argsort` "
                 "gives, the sequence itself need not be sorted.",
             .example = ">>> searchsorted(tensor([1, 3, 5]), tensor([3, 4])).tolist()\n[1, 2]",
             .infer = searchsorted_infer,
             .vjp = Rule<VjpFn>::none(kIntegers),
             .jvp = Rule<JvpFn>::none(kIntegers),
             .batch = searchsorted_batch,
             .lowering = Lowering::Library,
             .traits = kStopsGradient,
             .effects = kMayFail,
             .onnx = onnx_rules::searchsorted});
}

namespace ops {

Tensor argsort(const Tensor& x, int dim, bool descending) {
  static const Op& row = op_named("argsort");
  return apply_one(row, {x}, {std::int64_t{dim}, descending});
}

}  // namespace ops
}  // namespace kiln
