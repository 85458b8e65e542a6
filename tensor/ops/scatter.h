// Owns what the rows that place elements along one dimension share.
#pragma once

#include "tensor/op.h"

namespace kiln {

// Like input 0. Throws OpError unless the index and the source (or one number) fit it.
std::vector<TensorType> scatter_infer(std::span<const TensorType> inputs, const Attrs& attrs);
// Batching for ops of a tensor, an index and a source of one rank.
Tensors scatter_same_rank_batch(const BatchArgs& args);
// The gradient of a source, known where an index reaches it: zeros around, in its sizes.
Tensor padded_to(const Tensor& gradient, const TensorType& source);

void add_scatter_reduce_ops(OpTable& table);

}  // namespace kiln
