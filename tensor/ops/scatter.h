// Owns what the rows that place elements along one dimension share.
#pragma once

#include "tensor/op.h"

namespace kiln {

// Like input 0. Throws OpError unless the index and the source (or one number) fit it.
std::vector<TensorType> scatter_infer(std::span<const TensorType> inputs, const Attrs& attrs);
// Batching for ops of a tensor, an index and a source of one rank.
Tensors scatter_same_rank_batch(const BatchArgs& args);
// The source of what `scatter_infer` allows, in the dtype of the tensor: one number as many as the index
// wants. Throws OpError (Overflow) when the number does not fit.
Tensor scatter_source(const Op& row, Inputs inputs);
// Batching for ops whose source may be one number.
Tensors scatter_batch(const BatchArgs& args);
// The gradient of a source, known where an index reaches it: zeros around, in its sizes.
Tensor padded_to(const Tensor& gradient, const TensorType& source);
// The gradient of the source of a scatter, which may be larger than the index or one number, from that of
// each place of the index.
Tensor source_gradient(const Tensor& picked, const TensorType& source);
// Of several elements that scatter or index_put writes to one place the last stays, and has the gradient.
// From what was picked of the result's gradient `g`, one for each that was written: 0 for those that did not
// stay.
Tensor of_those_that_stay(const Tensor& picked, const Tensor& g, int dim, const Tensor& index);
Tensor of_those_that_stay(const Tensor& picked, const Tensor& g, Inputs indices);

void add_scatter_reduce_ops(OpTable& table);

}  // namespace kiln
