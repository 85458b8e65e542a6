// The rows of a matrix that integers name, with one row that may not learn.
#include <fmt/format.h>

#include "tensor/how_many.h"
#include "tensor/levels/level.h"
#include "tensor/onnx/rules.h"
#include "tensor/ops/rules.h"
#include "tensor/symbolic_run.h"
#include "tensor/tape/mode.h"
#include "tensor/tape/sparse_gradient.h"

namespace kiln {
namespace {

using rules::apply_one;

std::vector<TensorType> embedding_infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  rules::check_index_dtype(inputs[0], "embedding", 0);
  if (inputs[1].sizes.size() != 2) {
    throw OpError(ErrorKind::Shape,
                  fmt::format("embedding: the weight must be a matrix, it is {}", to_string(inputs[1])), {1});
  }
  const Dim rows = inputs[1].sizes[0];
  if (const auto* padding = attrs.find<Dim>("padding_idx");
      padding && (*padding < -rows || *padding >= rows)) {
    throw OpError(ErrorKind::Index,
                  fmt::format("embedding: padding_idx {} is none of {}", *padding, how_many(rows, "row")),
                  {1});
  }
  Dims sizes = inputs[0].sizes;
  sizes.push_back(inputs[1].sizes[1]);
  return {rules::with_sizes(inputs[1], sizes)};
}

// `values` of rows, with `instead` where the index names the padding of a weight of so many rows.
Tensor but_padding(const Tensor& values, const Tensor& index, Dim rows, const Attrs& attrs,
                   const Tensor& instead) {
  const auto* padding = attrs.find<Dim>("padding_idx");
  if (padding == nullptr) return values;
  const Tensor row = Tensor::number(*padding < 0 ? *padding + rows : *padding);
  const Tensor is_padding = ops::unsqueeze(apply_one(op_named("eq"), {index, row}), index.rank());
  return apply_one(op_named("where"), {is_padding, instead, values});
}
Tensor zero_of_dtype(const Tensor& x) { return ops::zeros(Dims{}, x.dtype(), x.device()); }

// Transforms give whole gradients: `sparse` is about those that the tape leaves in leaves, or that `grads`
// gives.
bool gives_sparse(const Attrs& attrs) {
  if (!attrs.get<bool>("sparse")) return false;
  const levels::Level* level = levels::top;
  while (level != nullptr && (level->kind() == LevelKind::Note || level->kind() == LevelKind::Trace))
    level = level->below();
  return level == nullptr;
}

// The rows of g, but for those of the padding.
Tensor sparse_gradient(const Tensor& g, const Tensor& given, const TensorType& weight, const Attrs& attrs) {
  if (SymbolicRun* run = SymbolicRun::current(); run != nullptr && run->stand_in() != nullptr) {
    throw OpError(
        ErrorKind::Capture,
        "embedding: a sparse gradient has as many rows as there are different indices, so it is in no graph");
  }
  if (tape::recording) {
    throw OpError(ErrorKind::Autograd, "embedding: a sparse gradient has no derivative of its own", {},
                  "leave out sparse=true where create_graph is asked for");
  }
  levels::announce("a sparse gradient is made, with as many rows as there are different indices");
  Tensor index = ops::reshape(given, Dims{given.numel()});
  Tensor rows = ops::reshape(g, Dims{given.numel(), weight.sizes[1]});
  if (const auto* padding = attrs.find<Dim>("padding_idx")) {
    const Dim row = *padding < 0 ? *padding + weight.sizes[0] : *padding;
    const Tensor kept = apply_one(op_named("ne"), {index, Tensor::number(row.hint())});
    index = ops::index(index, Tensors{kept});
    rows = ops::index(rows, Tensors{kept});
  }
  return sparse::from_rows(index, rows, Dims{weight.sizes[0].hint(), weight.sizes[1].hint()});
}

Tensors embedding_vjp(const VjpArgs& args) {
  const TensorType& weight = args.input_types[1];
  const Tensor& index = args.inputs[0];
  const Tensor& g = args.grads[0];
  if (gives_sparse(args.attrs)) return {{}, sparse_gradient(g, index, weight, args.attrs)};
  const Tensor rows = but_padding(g, index, weight.sizes[0], args.attrs, zero_of_dtype(g));
  const Tensor zeros = ops::zeros(weight.sizes, weight.dtype, weight.device);
  return {{},
          ops::index_add(zeros, 0, ops::reshape(index, Dims{index.numel()}),
                         ops::reshape(rows, Dims{index.numel(), weight.sizes[1]}))};
}

// The padding is a constant for both directions, so that they are each other's transpose.
Tensors embedding_jvp(const JvpArgs& args) {
  const Tensor& tangent = args.tangents[1];
  const Tensor inputs[] = {args.inputs[0], tangent};
  const Tensor rows = kiln::bind(args.op, inputs, args.attrs)[0];
  return {but_padding(rows, args.inputs[0], tangent.size(0), args.attrs, zero_of_dtype(rows))};
}

Tensors embedding_batch(const BatchArgs& args) {
  if (!args.batched[1]) return kiln::bind(args.op, args.inputs, args.attrs);
  // A weight for each example: places within it, so that an index of no row is an error as it was.
  const Tensor& weight = args.inputs[1];
  const Tensor index = rules::with_batch(args, 0);
  const Dim width = weight.size(2), count = index.numel() / std::max<Dim>(args.batch_size, 1);
  const Tensor places = ops::reshape(index, Dims{args.batch_size, count, 1});
  const Tensor rows = ops::gather(weight, 1, ops::expand(places, Dims{args.batch_size, count, width}));
  Dims sizes = index.sizes();
  sizes.push_back(width);
  const Tensor result = ops::reshape(rows, sizes);
  return {but_padding(result, index, weight.size(1), args.attrs, ops::detach(result))};
}

}  // namespace

void add_embedding_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("embedding(input: tensor, weight: tensor, padding_idx: int? = none, "
                                     "sparse: bool = false)"),
       .family = "index",
       .documentation =
           "The rows of `weight` that integers name. The row `padding_idx` is a constant: it "
           "gets no gradient. With `sparse` the gradient of `weight` has the rows that were asked for "
           "and no others: `weight.grad.indices()` and `weight.grad.values()`.",
       .example = ">>> embedding(tensor([1, 0]), tensor([[1, 2], [3, 4]])).tolist()\n[[3, 4], [1, 2]]",
       .infer = embedding_infer,
       .vjp = embedding_vjp,
       .jvp = embedding_jvp,
       .batch = embedding_batch,
       .saves = saves_input(0),
       .lowering = lowering::Gather{},
       .effects = kMayFail,
       .onnx = onnx_rules::embedding,
       .complex = ComplexRule::parts_beside(1U << 0)});
}

Tensor ops::embedding(const Tensor& index, const Tensor& weight) {
  static const Op& row = op_named("embedding");
  return apply_one(row, {index, weight});
}

}  // namespace kiln
