// Owns what a compiled kernel costs beside its time (tensor/cost.h), for sizes that are known.
#pragma once

#include "jit/graph/graph.h"
#include "jit/loops/lower.h"
#include "jit/loops/schedule.h"
#include "tensor/cost.h"

namespace kiln::jit {

// Of a tensor that the kernel reads through views, only what they show counts. Arithmetic is one for each
// scalar function and each element that a reduction takes in; what a later pass computes again counts once,
// and numbers that are the same for all elements count nothing.
Cost kernel_cost(const Lowered& lowered, const Schedule& schedule, Inputs operands, Inputs results,
                 const SymbolValues& symbols);

}  // namespace kiln::jit
