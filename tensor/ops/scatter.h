// Owns what the rows that place elements along one dimension share.
#pragma once

#include "tensor/op.h"
#include "tensor/ops/put.h"

namespace kiln {

// Like input 0. Throws OpError unless the index and the source (or one number) fit it.
std::vector<TensorType> scatter_infer(std::span<const TensorType> inputs, const Attrs& attrs);
// Batching for ops of a tensor, an index and a source of one rank.
Tensors scatter_same_rank_batch(const BatchArgs& args);
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

// The source of index_add times its attribute `alpha`, of its own dtype: bools times a number are bools.
Tensor times_alpha(const Tensor& source, const Attrs& attrs);

// How scatter_reduce combines, by its attribute `reduce`; the mean is a sum that is divided. Throws OpError
// (Value).
Put put_of(const Attrs& attrs);
bool is_mean(const Attrs& attrs);
// The number of a dtype that changes nothing it is combined with.
Tensor put_identity(DType dtype, Put put);
// How many elements meet at each place, at least 1: i64.
Tensor counts_of(const Tensor& x, int dim, const Tensor& index, bool include_self);

void add_scatter_reduce_ops(OpTable& table);

}  // namespace kiln
