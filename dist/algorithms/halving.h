// Owns reductions in which each member exchanges messages with few others, for many ranks.
#pragma once

#include "dist/algorithms/group.h"
#include "dist/algorithms/reduce.h"
#include "tensor/dtype.h"

namespace kiln::dist {

/// `allreduce` (reductions.h) for groups of 2, 4, 8, 16 ... members, to the same bits: the members at
/// distance 1, 2, 4 ... exchange halves of what is left to each, then give back what they have reduced
/// (recursive vector halving and distance doubling; Thakur, Rabenseifner and Gropp 2005). A member sends 2
/// log2(n) messages instead of 2 (n - 1), one behind the other. Halves go as f32 while they are summed, in
/// twice the bytes.
void allreduce_by_halving(const Group& group, DType dtype, ReduceOp op, ConstBytes input, Bytes output);

}  // namespace kiln::dist
