// Owns scaled_dot_product_attention: over the row that the operands' device has a kernel for, or else over
// products and a softmax.
#include "tensor/ops/attention.h"

#include <cmath>

#include "tensor/backend.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln {
namespace {

// How many heads of the query share one of the key's.
Dim heads_per_key(const TensorType& query, const TensorType& key, const TensorType& value) {
  const auto heads = [](const TensorType& x) {
    return x.sizes.size() < 3 ? 0 : ops::size_from_end(x.sizes, 3);
  };
  const Dim count = heads(key);
  if (count == 0 || heads(value) != count || heads(query) % count != 0) {
    throw OpError(ErrorKind::Shape,
                  "scaled_dot_product_attention: with enable_gqa the heads (dimension -3) of key and value "
                  "must be equally many and divide those of "
                  "the query: " +
                      to_string(query) + ", " + to_string(key) + ", " + to_string(value),
                  {0, 1, 2});
  }
  return heads(query) / count;
}

TensorType repeated_heads(TensorType x, Dim times) {
  x.sizes[x.sizes.size() - 3] *= times;
  return x;
}
Tensor repeated_heads(const Tensor& x, Dim times) {
  if (times == 1) return x;
  const auto heads = static_cast<std::ptrdiff_t>(x.rank()) - 3;
  Dims wide = x.sizes();
  wide.insert(wide.begin() + heads + 1, times);
  return ops::reshape(ops::expand(ops::unsqueeze(x, static_cast<int>(heads) + 1), wide),
                      repeated_heads(x.type(), times).sizes);
}

struct Types {
  Dims scores, result;
  Types(std::span<const TensorType> in, bool masked, const Attrs& attrs) {
    ops::check_attention_operands(in.first(3), attrs);
    const bool grouped = attrs.get<bool>("enable_gqa");
    const Dim times = grouped ? heads_per_key(in[0], in[1], in[2]) : 1;
    const Dims key = times > 1 ? repeated_heads(in[1], times).sizes : in[1].sizes;
    const Dims value = times > 1 ? repeated_heads(in[2], times).sizes : in[2].sizes;
    scores = broadcast(ops::batch_sizes(in[0].sizes), ops::batch_sizes(key), "scaled_dot_product_attention");
    result = broadcast(scores, ops::batch_sizes(value), "scaled_dot_product_attention");
    for (Dims* sizes : {&scores, &result}) sizes->push_back(ops::size_from_end(in[0].sizes, 2));
    scores.push_back(ops::size_from_end(key, 2));
    result.push_back(ops::size_from_end(value, 1));
    if (masked) ops::check_attention_mask(in[3], in[0], scores, attrs);
  }
};

std::vector<TensorType> infer_attention(std::span<const TensorType> in, const Attrs& attrs) {
  return {rules::with_sizes(in[0], Types(in, !in[3].is_number, attrs).result)};
}

double scale_of(const Attrs& attrs, Dim features) {
  const double* given = attrs.find<double>("scale");
  return given != nullptr ? *given : 1.0 / std::sqrt(static_cast<double>(features));
}

// ---- By a kernel that never has the matrix of scores -----------------------------------------------------

// The heads that share one of the key get a dimension of their own, along which key and value repeat.
Tensor apart_heads(const Tensor& x, Dim times) {
  const int heads = x.rank() - 3;
  if (heads < 0) return x;
  const Dim count = x.size(heads);
  if (count == 1) return ops::unsqueeze(x, heads);
  Dims sizes = x.sizes();
  sizes[static_cast<std::size_t>(heads)] = count / times;
  sizes.insert(sizes.begin() + heads + 1, times);
  return ops::reshape(x, sizes);
}

// Absent where the device has no kernel for the operands.
Tensor by_kernel(Inputs in, const Attrs& attrs, Dim times) {
  static const Op& row = OpTable::get().at("flash_attention");
  if (attrs.get<double>("dropout_p") != 0) return {};
  Tensors operands(in.begin(), in.end());
  if (times > 1) {
    operands[0] = apart_heads(in[0], times);
    for (const std::size_t i : {1, 2}) operands[i] = ops::unsqueeze(in[i], in[i].rank() - 2);
    if (in[3]) operands[3] = apart_heads(in[3], times);
  }
  Attrs given(row);
  given.set("is_causal", attrs.at("is_causal"));
  given.set("scale", scale_of(attrs, ops::size_from_end(in[0].sizes(), 1)));
  if (!has_kernel_for(row, operands, given)) return {};
  const Tensor result = kiln::bind(row, operands, given)[0];
  if (times == 1) return result;
  const int heads = result.rank() - 4;
  Dims sizes = result.sizes();
  sizes[static_cast<std::size_t>(heads)] = sizes[static_cast<std::size_t>(heads)] * times;
  sizes.erase(sizes.begin() + heads + 1);
  return ops::reshape(result, sizes);
}

// ---- Over products and a softmax -------------------------------------------------------------------------

Tensor composed(Inputs in, const Attrs& attrs, Dim times) {
  const DType dtype = ops::compute_dtype(in[0].dtype());
  const Tensor query = ops::to(in[0], dtype) * scale_of(attrs, ops::size_from_end(in[0].sizes(), 1));
  const Tensor key = repeated_heads(ops::to(in[1], dtype), times);
  const Tensor value = repeated_heads(ops::to(in[2], dtype), times);
  const ops::AttentionScores scores = ops::attention_scores(query, key, in[3]);
  Tensor weights = ops::attention_weights(scores, attrs.get<bool>("is_causal"));
  const double dropped = attrs.get<double>("dropout_p");
  if (dropped != 0) {
    static const Op& dropout = OpTable::get().at("dropout");
    weights = rules::apply_one(dropout, {weights}, {dropped, true});
  }
  return ops::to(ops::weighted_values(scores, weights, value), in[0].dtype());
}

Tensors attention(const Op&, Inputs in, const Attrs& attrs) {
  const TensorType types[] = {in[0].type(), in[1].type(), in[2].type(), in[3] ? in[3].type() : TensorType{}};
  const Types shapes(types, static_cast<bool>(in[3]), attrs);
  const Dim times = attrs.get<bool>("enable_gqa") ? heads_per_key(types[0], types[1], types[2]) : 1;
  const Tensor whole = by_kernel(in, attrs, times);
  return {whole ? whole : composed(in, attrs, times)};
}

}  // namespace

void add_attention_op(OpTable& table) {
  Op row = ops::composite_row(
      "scaled_dot_product_attention(query: tensor, key: tensor, value: tensor, attn_mask: tensor? = none, "
      "dropout_p: float = 0.0, is_causal: bool = false, *, scale: float? = none, enable_gqa: bool = false)",
      "softmax(query @ key.transpose(-2, -1) * scale) @ value for query [..., l, e], key [..., s, e] and "
      "value "
      "[..., s, v]; `scale` is 1 / sqrt(e) when none. A bool mask is true where a key is seen, another is "
      "added; with `is_causal` query i sees keys 0 to i. A query that sees no key gives 0. With `enable_gqa` "
      "several heads of the query share one of key and value; `dropout_p` drops weights, also outside of "
      "training.",
      ">>> scaled_dot_product_attention(ones(1, 2), ones(2, 2), tensor([[1.0], [3.0]])).tolist()\n[[2.0]]",
      infer_attention, attention);
  row.effects = kDraws;  // with dropout_p
  row.traits = kLowPrecision;
  table.add(std::move(row));
}

}  // namespace kiln
