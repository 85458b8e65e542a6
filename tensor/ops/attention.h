// Owns what attention composed of products and a softmax shares with the rows that cards have a kernel for.
#pragma once

#include "tensor/functions.h"

namespace kiln::ops {

// The sizes in front of lengths and features.
inline Dims batch_sizes(const Dims& sizes) { return Dims(sizes.begin(), sizes.end() - 2); }
// 1: features, 2: lengths, 3: heads. `sizes` has as many.
inline Dim size_from_end(const Dims& sizes, std::size_t place) { return sizes[sizes.size() - place]; }

// The scores of queries [..., l, e] for keys [..., s, e], both in the dtype of computation.
struct AttentionScores {
  Tensor seen;   // [..., l, s], -inf where a mask hides the key; causality is not looked at
  Tensor blind;  // bool [..., l, 1]: queries that see no key, whose scores are as if they saw all; or absent
};
// `mask` as scaled_dot_product_attention takes it, or absent. The query has the scale already.
AttentionScores attention_scores(const Tensor& query, const Tensor& key, const Tensor& mask);

// The weights of the keys, [..., l, s]. Those of blind queries are finite.
Tensor attention_weights(const AttentionScores& scores, bool is_causal);
// Adds up the values by such weights; blind queries give 0.
Tensor weighted_values(const AttentionScores& scores, const Tensor& weights, const Tensor& value);

// Throws OpError for operands of different dtypes, for fewer than two dimensions, and for lengths or features
// that do not fit, naming the op of `attrs`.
void check_attention_operands(std::span<const TensorType> query_key_value, const Attrs& attrs);
// The same for a mask over `scores`, [..., l, s].
void check_attention_mask(const TensorType& mask, const TensorType& query, const Dims& scores,
                          const Attrs& attrs);

}  // namespace kiln::ops
