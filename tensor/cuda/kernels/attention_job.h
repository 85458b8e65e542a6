// Owns what kernels of attention are given. For the host and for cards: no standard headers.
#pragma once

#include "tensor/cuda/kernels/axes.h"

namespace kiln::cuda {

// Steps along the dimensions before lengths and features: elements of the operands, and for `Results` how
// many matrices of the result come between.
enum AttentionOperand { kQueries, kKeys, kValues, kMasks, kGrads, kResults, kAttentionOperands };

// Attention of queries [queries, features] over keys [keys, features] and values [keys, widths], as many of
// these as `apart` * `alike` says. Those that are `alike` have the same keys and values.
struct AttentionJob {
  Count apart, alike;
  Axes<kAttentionOperands> along_apart, along_alike;
  Count queries, keys, features, widths;
  Count rows[kAttentionOperands];  // from one row to the next; within a row elements are neighbours
  Count mask_step;                 // from one key to the next in the mask
  Count pieces;                    // bit k: operand k can be read in pieces of 16 bytes
  double scale;                    // of the scores
  const void *query, *key, *value, *mask, *grad;
  void* result;                    // [apart and alike in order, queries, widths]
  void* logsumexp;                 // [apart and alike in order, queries], in the type of the sums
  const void *logarithms, *delta;  // as logsumexp, which is the first one, in the derivative
  void* by_query;                  // [apart and alike in order, queries, features]
  void *by_key, *by_value;         // [apart, keys, features], [apart, keys, widths]
};

}  // namespace kiln::cuda
