// Owns copies between layouts whose memory runs along different dimensions, tile by tile.
#pragma once

#include <cstddef>

#include "tensor/cpu/walk.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// The dimension of a simplified space along which an operand runs in memory, while operand 0 runs along the
// last one; -1 unless both are long enough that tiles pay.
int crossing_dim(const Space& space, int operand = 1);

// Does `x`, of the sizes of `result`, lie in memory along another dimension than that, so that a stride per
// element would use a few bytes of each cache line?
bool runs_across(const Tensor& x, const Tensor& result);

// Copies operand 1 of the space, at `from`, to operand 0, at `to`: elements of `item` bytes, with `dim` from
// `crossing_dim`. On all threads.
void copy_across(const Space& space, int dim, std::byte* to, const std::byte* from, std::int64_t item);

}  // namespace kiln::cpu
