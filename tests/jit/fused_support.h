// Owns what tests of compiled kernels share: awkward values, and holding a fused graph to its ops.
#pragma once

#include "jit/fused.h"

namespace kiln::testing {

// Numbers of all sizes, and those that functions treat apart.
Tensor values(const Dims& sizes, DType dtype, int seed);

// Checks that both give the same bits, or the same error.
void check_same(const jit::Graph& graph, const jit::FusedGraph& fused, Inputs arguments);

}  // namespace kiln::testing
