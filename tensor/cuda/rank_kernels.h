// Owns giving kernels of collectives to a stream: what ranks compute with elements that are on a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/cuda/kernels/rank_job.h"
#include "tensor/cuda/side_stream.h"
#include "tensor/dtype.h"

namespace kiln::cuda {

// `operation` is one of those of tensor/rank_values.h: "Add". The values are of `dtype`.
void reduce_over_ranks(SideStream& stream, DType dtype, std::string_view operation, const RankReduceJob& job);

// Elements of `from`, times a factor, become elements of `to`; one of the dtypes is f32 where they differ.
// Input and output may be one memory where the dtypes are equal.
void scale_for_ranks(SideStream& stream, DType from, DType to, const RankScaleJob& job);

// Elements of `item` bytes, each of which is these bits.
void fill_for_ranks(SideStream& stream, std::size_t item, const RankFillJob& job);

}  // namespace kiln::cuda
