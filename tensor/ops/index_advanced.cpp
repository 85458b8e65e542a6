// Advanced indexing: tensors of integers and masks for some dimensions, as NumPy mixes them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tensor/onnx/rules.h"
#include "tensor/ops/advanced_index.h"
#include "tensor/ops/complex_rules.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/rules.h"
#include "tensor/ops/scatter.h"

namespace kiln {

void add_advanced_index_ops(OpTable& table);

namespace {

using namespace advanced_index;
using rules::apply_one;

// ---- Which dimensions are indexed, and what shape results ----

std::vector<TensorType> index_infer(std::span<const TensorType> inputs, const Attrs&) {
  const std::vector<Item> items = items_of(inputs[0], inputs.subspan(1), 1);
  const Order order = order_of(items, static_cast<int>(inputs[0].sizes.size()));
  return {rules::with_sizes(inputs[0], result_sizes(inputs[0].sizes, order, broadcast_items(items)))};
}
std::vector<TensorType> index_put_infer(std::span<const TensorType> inputs, const Attrs&) {
  const std::vector<Item> items = items_of(inputs[0], inputs.subspan(2), 2);
  const Order order = order_of(items, static_cast<int>(inputs[0].sizes.size()));
  const Dims sizes = result_sizes(inputs[0].sizes, order, broadcast_items(items));
  const bool known = std::find(sizes.begin(), sizes.end(), -1) == sizes.end();
  if (known) check_values(inputs[1], sizes);
  return rules::infer_same(inputs, {});
}

// ---- nonzero, masked_select ----

std::vector<TensorType> nonzero_infer(std::span<const TensorType> inputs, const Attrs&) {
  return {{DType::I64, inputs[0].device, Dims{-1, static_cast<Dim>(inputs[0].sizes.size())}}};
}

// The columns of `nonzero`, contiguous: one for each dimension, one of zeros for a 0-d tensor.
std::vector<TensorType> nonzero_columns_infer(std::span<const TensorType> inputs, const Attrs&) {
  return std::vector<TensorType>(std::max<std::size_t>(inputs[0].sizes.size(), 1),
                                 {DType::I64, inputs[0].device, Dims{-1}});
}
Tensors nonzero_columns_body(const Op&, Inputs inputs, const Attrs&) {
  const Tensor x = inputs[0].rank() == 0 ? ops::reshape(inputs[0], Dims{1}) : inputs[0];
  const Tensor places = ops::nonzero(x);
  Tensors columns;
  for (int d = 0; d < x.rank(); ++d) columns.push_back(ops::clone(ops::select(places, 1, d)));
  return columns;
}

std::vector<TensorType> masked_select_infer(std::span<const TensorType> inputs, const Attrs&) {
  if (inputs[1].dtype != DType::Bool) {
    throw OpError(ErrorKind::DType,
                  fmt::format("masked_select: the mask must be bool, it is {}", to_string(inputs[1])), {1});
  }
  broadcast(inputs[0].sizes, inputs[1].sizes, "masked_select");
  return {rules::with_sizes(inputs[0], Dims{-1})};
}
Tensors masked_select_body(const Op&, Inputs inputs, const Attrs&) {
  const Dims sizes = broadcast(inputs[0].sizes(), inputs[1].sizes(), "masked_select");
  if (sizes.empty()) {
    return {ops::index(ops::reshape(inputs[0], Dims{1}), Tensors{ops::reshape(inputs[1], Dims{1})})};
  }
  return {ops::index(ops::expand(inputs[0], sizes), Tensors{ops::expand(inputs[1], sizes)})};
}

// ---- Derivatives ----

Tensors index_vjp(const VjpArgs& args) {
  const TensorType& x = args.input_types[0];
  Tensors result(args.input_types.size());
  const Tensor zeros = ops::zeros(x.sizes, x.dtype, x.device);
  result[0] = ops::index_put(zeros, args.inputs.subspan(1), args.grads[0], true);
  return result;
}
Tensors index_jvp(const JvpArgs& args) { return {ops::index(args.tangents[0], args.inputs.subspan(1))}; }

Tensors index_put_vjp(const VjpArgs& args) {
  const Tensor& g = args.grads[0];
  const Inputs indices = args.inputs.subspan(2);
  const bool accumulates = args.attrs.get<bool>("accumulate");
  Tensors result(args.input_types.size());
  if (args.needs[0])
    result[0] = accumulates ? g : ops::index_put(g, indices, Tensor::number(std::int64_t{0}));
  if (args.needs[1]) {
    const TensorType& values = args.input_types[1];
    Tensor picked = ops::index(g, indices);
    if (!accumulates) picked = of_those_that_stay(picked, g, indices);
    result[1] = ops::to(ops::sum_to(picked, values.sizes), values.dtype);
  }
  return result;
}
Tensors index_put_jvp(const JvpArgs& args) {
  const auto tangent = [&](std::size_t i) {
    return args.tangents[i] ? args.tangents[i] : ops::zeros_like(args.inputs[i]);
  };
  return {ops::index_put(tangent(0), args.inputs.subspan(2), tangent(1), args.attrs.get<bool>("accumulate"))};
}

// ---- Batching ----
// The batch becomes one more indexed dimension in front: an index that counts the examples. All indexed
// dimensions are moved together first, so that where their shape goes is settled.

// The indices as integers, one for each indexed dimension: masks become the places where they are true.
Tensors without_masks(Inputs indices) {
  Tensors result;
  for (const Tensor& index : indices) {
    if (!index || index.dtype() != DType::Bool) {
      result.push_back(index);
      continue;
    }
    static const Op& nonzero = op_named("nonzero");
    const Tensor places = run_eager(nonzero, Inputs(&index, 1), Attrs(nonzero))[0];
    for (int d = 0; d < index.rank(); ++d) {
      const Layout column{{places.size(0)}, {places.strides()[0]}, places.offset() + d};
      result.push_back(Tensor::alias(places, column));
    }
  }
  return result;
}

struct BatchPlan {
  Tensor x;         // [batch, indexed…, others…]
  Tensors indices;  // for [batch, indexed…]
  Order order;      // of one example
  int middle;       // dimensions of the indices' common shape
};

Tensors batched_indices(const BatchArgs& args, std::size_t first) {
  Tensors indices;
  for (std::size_t i = first; i < args.inputs.size(); ++i) {
    const Tensor& index = args.inputs[i];
    if (index && index.dtype() == DType::Bool && args.batched[i]) {
      throw OpError(ErrorKind::Value,
                    "a mask that differs between the examples of a batch picks different counts", {0},
                    "use `where` instead of a mask");
    }
    indices.push_back(index);
  }
  return indices;
}

BatchPlan batch_plan(const BatchArgs& args, std::size_t first) {
  const Tensor x = rules::with_batch(args, 0);
  const Tensors given = batched_indices(args, first);
  Tensors indices;
  std::vector<bool> batched;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Tensors parts = without_masks(Inputs(&given[i], 1));
    indices.append(parts.begin(), parts.end());
    batched.insert(batched.end(), parts.size(), args.batched[first + i]);
  }
  std::vector<TensorType> types;
  int middle = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    TensorType type = indices[i] ? indices[i].type() : kAbsent;
    if (batched[i]) type.sizes.erase(type.sizes.begin());
    if (indices[i]) middle = std::max(middle, static_cast<int>(type.sizes.size()));
    types.push_back(type);
  }
  TensorType one = x.type();
  one.sizes.erase(one.sizes.begin());
  const std::vector<Item> items = items_of(one, types, static_cast<int>(first));
  BatchPlan plan{{}, {}, order_of(items, x.rank() - 1), middle};
  Dims dims{0};
  for (int i = 0; i < plan.order.indexed; ++i)
    dims.push_back(plan.order.dims[static_cast<std::size_t>(plan.order.before + i)] + 1);
  for (int i = 0; i < x.rank() - 1; ++i) {
    const bool moved = i >= plan.order.before && i < plan.order.before + plan.order.indexed;
    if (!moved) dims.push_back(plan.order.dims[static_cast<std::size_t>(i)] + 1);
  }
  plan.x = ops::permute(x, dims);
  Dims ones(static_cast<std::size_t>(middle) + 1, 1);
  ones[0] = args.batch_size;
  plan.indices.push_back(ops::reshape(rules::counting(args.batch_size, x.device()), ones));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i]) plan.indices.push_back(batched[i] ? rules::pad_rank(indices[i], middle) : indices[i]);
  }
  return plan;
}

// Dimensions [batch, middle…, others…] in the order of a result: [batch, before…, middle…, after…].
Dims result_order(const BatchPlan& plan) {
  const int others = static_cast<int>(plan.order.dims.size()) - plan.order.indexed;
  Dims dims{0};
  for (int i = 0; i < plan.order.before; ++i) dims.push_back(1 + plan.middle + i);
  for (int i = 0; i < plan.middle; ++i) dims.push_back(1 + i);
  for (int i = plan.order.before; i < others; ++i) dims.push_back(1 + plan.middle + i);
  return dims;
}
Dims inverse(const Dims& dims) {
  Dims result(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    result[static_cast<std::size_t>(dims[i])] = static_cast<Dim>(i);
  return result;
}

Tensors index_batch(const BatchArgs& args) {
  const BatchPlan plan = batch_plan(args, 1);
  return {ops::permute(ops::index(plan.x, plan.indices), result_order(plan))};
}
Tensors index_put_batch(const BatchArgs& args) {
  rules::check_fits(args.inputs[1], args.inputs[0].dtype(), args.op.name(), 1);  // a number becomes a tensor
  const BatchPlan plan = batch_plan(args, 2);
  const Dims order = result_order(plan);
  const Tensor values = ops::permute(
      rules::pad_rank(rules::with_batch(args, 1), static_cast<int>(order.size()) - 1), inverse(order));
  const Tensor result = ops::index_put(plan.x, plan.indices, values, args.attrs.get<bool>("accumulate"));
  Dims dims{0};
  for (int i = 0; i < plan.order.indexed; ++i)
    dims.push_back(plan.order.dims[static_cast<std::size_t>(plan.order.before + i)] + 1);
  for (int i = 0; i < static_cast<int>(plan.order.dims.size()); ++i) {
    const bool moved = i >= plan.order.before && i < plan.order.before + plan.order.indexed;
    if (!moved) dims.push_back(plan.order.dims[static_cast<std::size_t>(i)] + 1);
  }
  return {ops::permute(result, inverse(dims))};
}

Saves all_indices(std::uint32_t first) { return {~0U << first, 0}; }

// Indices of the elements that are not zero, as a tuple.
Op columns_row(std::string_view signature, std::string_view documentation, std::string_view example,
               InferFn infer) {
  constexpr std::string_view kIntegers = "integers have no derivative";
  return {.signature = Signature::parse(signature),
          .family = "index",
          .documentation = documentation,
          .example = example,
          .infer = infer,
          .decompose = nonzero_columns_body,
          .vjp = Rule<VjpFn>::none(kIntegers),
          .jvp = Rule<JvpFn>::none(kIntegers),
          .batch = Rule<BatchFn>::none(kComposite),
          .traits = kDataDependent | kStopsGradient,
          .outputs = kVariadic,
          .onnx = OnnxRule::none(onnx_rules::kNoGraph),
          .complex = complex_rules::of_truth};
}

}  // namespace

void add_advanced_index_ops(OpTable& table) {
  table.add(
      {.signature = Signature::parse("index(x: tensor, indices: tensors?)"),
       .family = "index",
       .documentation =
           "Advanced indexing, `x[i, j]`: one tensor of integers or mask for each dimension, none for all of "
           "it. The indices broadcast; their shape takes the place of the dimensions they index, or "
           "comes first when those are not adjacent.",
       .example = ">>> x = tensor([[1, 2], [3, 4]])\n>>> x[[1, 0], [0, 1]].tolist()\n[3, 2]",
       .infer = index_infer,
       .vjp = index_vjp,
       .jvp = index_jvp,
       .batch = index_batch,
       .saves = all_indices(1),
       .lowering = lowering::Gather{},
       .effects = kMayFail,
       .onnx = onnx_rules::index,
       .complex = ComplexRule::parts_beside(~1U)});
  table.add(
      {.signature = Signature::parse(
           "index_put(x: tensor, indices: tensors?, values: tensor, accumulate: bool = false)"),
       .family = "index",
       .documentation =
           "A copy of `x` with `values` at the places that `index` would pick, or added to them. Of several "
           "for one place the last stays.",
       .example =
           ">>> zeros(3, dtype=i64).index_put([tensor([0, 0])], tensor([1, 2]), true).tolist()\n[3, 0, 0]",
       .infer = index_put_infer,
       .vjp = index_put_vjp,
       .jvp = index_put_jvp,
       .batch = index_put_batch,
       .saves = all_indices(2),
       .lowering = Lowering::Scatter,
       .traits = kInplace,
       .effects = kMayFail,
       .onnx = onnx_rules::index_put,
       .complex = ComplexRule::parts_beside(~3U)});
  table.add({.signature = Signature::parse("nonzero(x: tensor, *, as_tuple: bool[false] = false)"),
             .family = "index",
             .documentation = "The index of every element that is not zero, one in each row.",
             .example = ">>> nonzero(tensor([0, 5, 6])).tolist()\n[[1], [2]]",
             .infer = nonzero_infer,
             .vjp = Rule<VjpFn>::none("integers have no derivative"),
             .jvp = Rule<JvpFn>::none("integers have no derivative"),
             .batch = Rule<BatchFn>::none("the number of rows differs between the examples of a batch"),
             .lowering = Lowering::Library,
             .traits = kDataDependent | kStopsGradient,
             .onnx = OnnxRule::none(onnx_rules::kNoGraph),
             .complex = complex_rules::of_truth});
  table.add(columns_row(
      "nonzero.tuple(x: tensor, *, as_tuple: bool[true])",
      "The indices of the elements that are not zero, as a tuple of one vector for each dimension: "
      "`x[x.nonzero(as_tuple=true)]` picks them.",
      ">>> [i.tolist() for i in nonzero(tensor([[0, 5], [6, 0]]), as_tuple=true)]\n[[0, 1], [1, 0]]",
      nonzero_columns_infer));
  table.add(
      columns_row("where.condition(condition: tensor)",
                  "Where the condition is true, as a tuple of one vector of indices for each dimension.",
                  ">>> where(tensor([3, 1, 3]) == 3)[0].tolist()\n[0, 2]", nonzero_columns_infer));
  table.add(
      {.signature = Signature::parse("masked_select(x: tensor, mask: tensor)"),
       .family = "index",
       .documentation = "The elements of `x` where `mask` is true, in order: `x[mask]` with broadcasting.",
       .example = ">>> x = arange(4)\n>>> masked_select(x, x > 1).tolist()\n[2, 3]",
       .infer = masked_select_infer,
       .decompose = masked_select_body,
       .vjp = Rule<VjpFn>::none(kComposite),
       .jvp = Rule<JvpFn>::none(kComposite),
       .batch = Rule<BatchFn>::none(kComposite),
       .traits = kDataDependent,
       .onnx = OnnxRule::none(onnx_rules::kNoGraph),
       .complex = ComplexRule::parts_beside(1U << 1)});
}

namespace ops {

Tensor index(const Tensor& x, Inputs indices) {
  static const Op& row = op_named("index");
  Tensors inputs{x};
  inputs.append(indices.begin(), indices.end());
  return apply_one(row, Inputs(inputs));
}
Tensor index_put(const Tensor& x, Inputs indices, const Tensor& values, bool accumulate) {
  static const Op& row = op_named("index_put");
  Tensors inputs{x, values};
  inputs.append(indices.begin(), indices.end());
  return apply_one(row, Inputs(inputs), {accumulate});
}
Tensor nonzero(const Tensor& x) {
  static const Op& row = op_named("nonzero");
  return apply_one(row, {x});
}

}  // namespace ops
}  // namespace kiln
