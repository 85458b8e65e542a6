// Owns folds of strided tensors on the CPU: how a reduction is cut into independent pieces for the kernels.
#pragma once

#include "tensor/compute.h"
#include "tensor/cpu/folds/fold_job.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// The dtype of a fold's result: that of integers themselves for their extrema, i64 where the map counts, bool
// where it asks for truth, else the accumulator.
DType fold_result(DType dtype, Combine combine, Map map);

// Combines map(x) over `dims` (sorted, unique, not negative) in the fixed order. Gives a contiguous tensor of
// dtype `fold_result` whose sizes are those of the other dimensions. An empty sequence gives the identity: 0
// for sums, 1 for products, the lowest or highest value for Max and Min. `centers`: for the centered maps,
// contiguous, of the result's sizes and dtype.
Tensor fold(const Tensor& x, const IntDims& dims, Combine combine, Map map = Map::Identity,
            const Tensor& centers = {});

// Likewise into a contiguous tensor of that dtype, with as many elements.
void fold_into(const Tensor& output, const Tensor& x, const IntDims& dims, Combine combine,
               Map map = Map::Identity, const Tensor& centers = {});

// Sums the last dimension, the results of blocks, as the fixed order combines them.
Tensor sum_blocks(const Tensor& partials);

}  // namespace kiln::cpu
