// Owns the parts of attention: what operands must be, scores, weights, and sums of values.
#include <limits>

#include "tensor/ops/attention.h"
#include "tensor/ops/reduced.h"
#include "tensor/ops/rules.h"

namespace kiln::ops {
namespace {

[[noreturn]] void refuse(const Attrs& attrs, ErrorKind kind, const std::string& why,
                         std::vector<int> operands) {
  throw OpError(kind, std::string(attrs.op()->name()) + ": " + why, std::move(operands));
}
Dim last(const Dims& sizes, std::size_t from_end) { return sizes[sizes.size() - from_end]; }

const Tensor& lowest() {
  static const Tensor number = Tensor::number(-std::numeric_limits<double>::infinity());
  return number;
}

}  // namespace

void check_attention_operands(std::span<const TensorType> query_key_value, const Attrs& attrs) {
  const TensorType &query = query_key_value[0], &key = query_key_value[1], &value = query_key_value[2];
  need_float(query, attrs);
  if (key.dtype != query.dtype || value.dtype != query.dtype) {
    refuse(attrs, ErrorKind::DType,
           "query, key and value must have one dtype: " + to_string(query) + ", " + to_string(key) + ", " +
               to_string(value),
           {0, 1, 2});
  }
  if (query.sizes.size() < 2 || key.sizes.size() < 2 || value.sizes.size() < 2) {
    refuse(attrs, ErrorKind::Shape,
           "query, key and value have at least 2 dimensions, [..., length, features]: " + to_string(query) +
               ", " + to_string(key) + ", " + to_string(value),
           {0, 1, 2});
  }
  if (last(query.sizes, 1) != last(key.sizes, 1)) {
    refuse(attrs, ErrorKind::Shape,
           "the query " + to_string(query) + " and the key " + to_string(key) +
               " have different numbers of features",
           {0, 1});
  }
  if (last(key.sizes, 2) != last(value.sizes, 2)) {
    refuse(attrs, ErrorKind::Shape,
           "the key " + to_string(key) + " and the value " + to_string(value) + " have different lengths",
           {1, 2});
  }
}

void check_attention_mask(const TensorType& mask, const TensorType& query, const Dims& scores,
                          const Attrs& attrs) {
  if (attrs.get<bool>("is_causal"))
    refuse(attrs, ErrorKind::Value, "give attn_mask or is_causal=true, not both", {3});
  if (mask.dtype != DType::Bool && mask.dtype != query.dtype) {
    refuse(attrs, ErrorKind::DType,
           "attn_mask must be bool or " + std::string(name(query.dtype)) + ", it is " + to_string(mask), {3});
  }
  if (!broadcastable_to(mask.sizes, scores) || mask.sizes.empty()) {
    refuse(attrs, ErrorKind::Shape,
           "attn_mask " + to_string(mask) + " does not broadcast to the scores " + to_string(scores), {3});
  }
}

// A query that may see nothing sees everything, so that its softmax and their derivatives are finite, and its
// result is set to 0 afterwards.
AttentionScores attention_scores(const Tensor& query, const Tensor& key, const Tensor& mask) {
  const Tensor scores = matmul(query, transpose(key, key.rank() - 2, key.rank() - 1));
  if (!mask) return {scores, {}};
  const Dims keys{mask.rank() - 1};
  if (mask.dtype() != DType::Bool) {
    const Tensor blind = eq(amax(mask, keys, true), lowest());
    return {scores + to(where(blind, Tensor::number(0.0), mask), query.dtype()), blind};
  }
  const Tensor blind = eq(amax(to(mask, DType::U8), keys, true), Tensor::number(std::int64_t{0}));
  return {masked_fill(scores, logical_not(logical_or(mask, blind)), lowest()), blind};
}

Tensor attention_weights(const AttentionScores& scores, bool is_causal) {
  static const Op& causal_softmax = OpTable::get().at("causal_softmax");
  return is_causal ? rules::apply_one(causal_softmax, {scores.seen})
                   : softmax(scores.seen, scores.seen.rank() - 1);
}

Tensor weighted_values(const AttentionScores& scores, const Tensor& weights, const Tensor& value) {
  const Tensor result = matmul(weights, value);
  return scores.blind ? masked_fill(result, scores.blind, Tensor::number(0.0)) : result;
}

}  // namespace kiln::ops
