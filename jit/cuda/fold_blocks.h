// Owns combining what blocks of a reduction came to, in a launch of its own.
#pragma once

#include <cstdint>

#include "jit/loops/loops.h"
#include "tensor/cuda/context.h"
#include "tensor/tensor.h"

namespace kiln::jit {

// `parts`: accumulators [results, blocks]. Gives those of the results, one each; where there is one block,
// `parts` itself.
Tensor fold_blocks(cuda::Context& context, const Reduction& reduction, const Tensor& parts,
                   std::int64_t results, std::int64_t blocks);

}  // namespace kiln::jit
