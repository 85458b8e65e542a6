// Owns attention as one op for devices that have a kernel for it, and its derivative as one. Neither keeps
// the matrix of scores: what the forward row gives beside the result is the logarithm of each query's sum of
// exponentials, from which the weights are computed again.
#include <limits>

#include "tensor/ops/attention.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

Dims with(Dims sizes, std::initializer_list<Dim> more) {
  sizes.append(more.begin(), more.end());
  return sizes;
}

const Tensor& infinity() {
  static const Tensor number = Tensor::number(std::numeric_limits<double>::infinity());
  return number;
}

// Along which all operands broadcast, without lengths and features. Throws OpError.
Dims shared_leading(std::span<const TensorType> query_key_value, const TensorType& mask, const Attrs& attrs) {
  ops::check_attention_operands(query_key_value, attrs);
  const TensorType &query = query_key_value[0], &key = query_key_value[1], &value = query_key_value[2];
  const std::string name(attrs.op()->name());
  const Dims scores = broadcast(ops::batch_sizes(query.sizes), ops::batch_sizes(key.sizes), name);
  if (!mask.is_number)
    ops::check_attention_mask(
        mask, query, with(scores, {ops::size_from_end(query.sizes, 2), ops::size_from_end(key.sizes, 2)}),
        attrs);
  return broadcast(scores, ops::batch_sizes(value.sizes), name);
}

std::vector<TensorType> infer_forward(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims sizes = shared_leading(in.first(3), in[3], attrs);
  const Dim queries = ops::size_from_end(in[0].sizes, 2);
  TensorType logarithms = rules::with_sizes(in[0], with(sizes, {queries}));
  logarithms.dtype = ops::compute_dtype(in[0].dtype);
  return {rules::with_sizes(in[0], with(sizes, {queries, ops::size_from_end(in[2].sizes, 1)})), logarithms};
}

// ---- Over smaller ops ------------------------------------------------------------------------------------

// The scores as they are seen, -inf for keys after the query where it looks back only. Blind queries are not
// looked at.
Tensor seen_scores(const ops::AttentionScores& scores, const Attrs& attrs) {
  const Tensor& seen = scores.seen;
  if (!attrs.get<bool>("is_causal")) return seen;
  const Dims square{seen.size(seen.rank() - 2), seen.size(seen.rank() - 1)};
  const Tensor after = ops::logical_not(ops::tril(ops::ones(square, DType::Bool, seen.device())));
  return ops::masked_fill(seen, after, -infinity());
}

Tensors forward(const Op&, Inputs in, const Attrs& attrs) {
  const DType wide = ops::compute_dtype(in[0].dtype());
  const Tensor query = ops::to(in[0], wide) * attrs.get<double>("scale");
  const Tensor key = ops::to(in[1], wide), value = ops::to(in[2], wide);
  const ops::AttentionScores scores = ops::attention_scores(query, key, in[3]);
  const Tensor weights = ops::attention_weights(scores, attrs.get<bool>("is_causal"));
  const Tensor result = ops::to(ops::weighted_values(scores, weights, value), in[0].dtype());
  Dims sizes = result.sizes();
  sizes.back() = 1;
  Tensor logarithms;
  if (ops::size_from_end(in[1].sizes(), 2) == 0) {
    logarithms = ops::full(sizes, infinity(), wide, in[0].device());
  } else {
    logarithms = ops::logsumexp(seen_scores(scores, attrs), Dims{scores.seen.rank() - 1}, true);
    if (scores.blind) logarithms = ops::masked_fill(logarithms, scores.blind, infinity());
    logarithms = ops::expand(logarithms, sizes);
  }
  sizes.pop_back();
  return {result, ops::reshape(logarithms, sizes)};
}

// What the derivative goes through, of all heads apart: weights and the gradient of the scores.
struct Steps {
  Tensor query, key, grad, weights, by_scores;

  // Inputs as those of flash_attention_backward.
  Steps(Inputs in, const Attrs& attrs) {
    const DType wide = ops::compute_dtype(in[1].dtype());
    const auto column = [](const Tensor& x) { return ops::unsqueeze(x, x.rank()); };
    grad = ops::to(in[0], wide);
    query = ops::to(in[1], wide) * attrs.get<double>("scale");
    key = ops::to(in[2], wide);
    const Tensor value = ops::to(in[3], wide);
    const Tensor seen = seen_scores(ops::attention_scores(query, key, in[6]), attrs);
    weights = ops::exp(seen - column(ops::to(in[4], wide)));
    const Tensor by_weights = ops::matmul(grad, turned(value));
    by_scores = weights * (by_weights - column(ops::to(in[5], wide)));
  }
  static Tensor turned(const Tensor& x) { return ops::transpose(x, x.rank() - 2, x.rank() - 1); }
};

Tensor of_type(const Tensor& x, const TensorType& type) {
  return ops::to(ops::sum_to(x, type.sizes), type.dtype);
}

Tensors backward(const Op&, Inputs in, const Attrs& attrs) {
  const Steps steps(in, attrs);
  const Tensor by_query = ops::matmul(steps.by_scores, steps.key) * attrs.get<double>("scale");
  const Tensor by_key = ops::matmul(Steps::turned(steps.by_scores), steps.query);
  const Tensor by_value = ops::matmul(Steps::turned(steps.weights), steps.grad);
  return {of_type(by_query, in[1].type()), of_type(by_key, in[2].type()), of_type(by_value, in[3].type())};
}

// ---- Derivatives and batches -----------------------------------------------------------------------------

std::vector<TensorType> infer_backward(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims sizes = shared_leading(in.subspan(1, 3), in[6], attrs);
  const Dim queries = ops::size_from_end(in[1].sizes, 2);
  const auto check = [&](int i, const char* name, const Dims& expected) {
    const TensorType& type = in[static_cast<std::size_t>(i)];
    ops::need_float(type, attrs);
    if (type.sizes == expected) return;
    throw OpError(ErrorKind::Shape,
                  std::string(attrs.op()->name()) + ": " + name + " is " + to_string(type) + ", not " +
                      to_string(TensorType{type.dtype, type.device, expected}),
                  {i});
  };
  check(0, "grad", with(sizes, {queries, ops::size_from_end(in[3].sizes, 1)}));
  check(4, "logsumexp", with(sizes, {queries}));
  check(5, "delta", with(sizes, {queries}));
  return {in[1], in[2], in[3]};
}

// Each score has the gradient weight * (grad @ value - delta), where delta is what the others take from it.
Tensors forward_vjp(const VjpArgs& args) {
  static const Op& row = OpTable::get().at("flash_attention_backward");
  const Tensor &grad = args.grads[0], &result = args.outputs[0], &mask = args.inputs[3];
  const DType wide = args.output_types[1].dtype;
  const Dims widths{static_cast<Dim>(grad.rank() - 1)};
  const Tensor delta = ops::sum(ops::to(grad, wide) * ops::to(result, wide), widths) - args.grads[1];
  const Tensor inputs[] = {grad, args.inputs[0], args.inputs[1], args.inputs[2], args.outputs[1], delta,
                           mask};
  Attrs attrs(row);
  attrs.set("is_causal", args.attrs.at("is_causal")).set("scale", args.attrs.at("scale"));
  Tensors found(4);
  if (args.needs[0] || args.needs[1] || args.needs[2]) {
    const Tensors made = kiln::bind(row, inputs, attrs);
    for (std::size_t i = 0; i < 3; ++i)
      if (args.needs[i]) found[i] = made[i];
  }
  // A mask that is added has the gradients of the scores, of which no kernel makes a matrix.
  if (args.needs[3]) found[3] = of_type(Steps(inputs, attrs).by_scores, mask.type());
  return found;
}

// All operands but the mask have the batch, which is one of the leading dimensions; `first` is that of the
// query.
Tensors with_batches(const BatchArgs& args, std::size_t first, std::size_t mask) {
  Tensors inputs(args.inputs.begin(), args.inputs.end());
  int rank = 0;  // without the batch
  for (std::size_t i = first; i < first + 3; ++i)
    rank = std::max(rank, inputs[i].rank() - (args.batched[i] ? 1 : 0));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || (i == mask && !args.batched[i])) continue;
    const bool is_matrix = i < first + 3 || i == mask;
    inputs[i] = rules::pad_rank(rules::with_batch(args, i), is_matrix ? rank : rank - 1);
  }
  return inputs;
}

Tensors forward_batch(const BatchArgs& args) {
  return kiln::bind(args.op, with_batches(args, 0, 3), args.attrs);
}

Tensors backward_batch(const BatchArgs& args) {
  Tensors found = kiln::bind(args.op, with_batches(args, 1, 6), args.attrs);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = ops::reshape(found[i], rules::with_batch(args, i + 1).sizes());
  }
  return found;
}

}  // namespace

void add_flash_attention_ops(OpTable& table) {
  Op row = ops::composite_row(
      "flash_attention(query: tensor, key: tensor, value: tensor, attn_mask: tensor? = none, is_causal: bool "
      "= false, *, scale: float = 1.0) -> (result, logsumexp)",
      "What `scaled_dot_product_attention` is on devices that have a kernel for it: the result, and for each "
      "query the logarithm of the sum of the exponentials of its scores, from which the derivative computes "
      "its weights again. A query that sees no key has 0 and inf. Key and value broadcast along dimensions "
      "before the lengths.",
      ">>> flash_attention(zeros(1, 2), zeros(2, 2), tensor([[1.0], [3.0]])).result.tolist()\n[[2.0]]",
      infer_forward, forward);
  row.vjp = forward_vjp;
  row.batch = forward_batch;
  row.saves = {0xf, 0x3};
  row.lowering = lowering::OwnKernel{};
  row.outputs = 2;
  row.traits = kLowPrecision;
  row.products = [](Inputs in) {
    const std::int64_t widths = ops::size_from_end(in[2].sizes(), 1).fixed();
    const std::int64_t each = ops::size_from_end(in[0].sizes(), 1).fixed() + widths;
    return ops::size_from_end(in[1].sizes(), 2).fixed() * each / std::max<std::int64_t>(1, widths);
  };
  table.add(std::move(row));
  Op derivative = ops::composite_row(
      "flash_attention_backward(grad: tensor, query: tensor, key: tensor, value: tensor, logsumexp: tensor, "
      "delta: tensor, attn_mask: tensor? = none, is_causal: bool = false, *, scale: float = 1.0) -> (query, "
      "key, value)",
      "The gradients of `flash_attention` by query, key and value from that of its result. `delta` is what "
      "the gradient of each score loses: the sum of grad * result along the features, less the gradient of "
      "logsumexp.",
      ">>> flash_attention_backward(ones(1, 1), zeros(1, 2), zeros(2, 2), tensor([[1.0], [3.0]]), "
      "tensor([2.0]).log(), tensor([2.0])).value.tolist()\n[[0.5], [0.5]]",
      infer_backward, backward);
  derivative.batch = backward_batch;
  derivative.lowering = lowering::OwnKernel{};
  derivative.outputs = 3;
  derivative.products = [](Inputs in) {
    const std::int64_t features = ops::size_from_end(in[1].sizes(), 1).fixed(),
                       widths = ops::size_from_end(in[3].sizes(), 1).fixed();
    return ops::size_from_end(in[2].sizes(), 2).fixed() * (3 * features + 2 * widths) /
           std::max<std::int64_t>(1, features);
  };
  table.add(std::move(derivative));
}

}  // namespace kiln
