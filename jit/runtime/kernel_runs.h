// Owns notes on which kernels of a program run with others, beside what each target notes of its own.
#pragma once

#include <vector>

#include "jit/loops/kernel_op.h"

namespace kiln::jit {

// The notes of the targets, with the products that kernels take along and the kernels of one launch. In the
// order of `kernels_of`.
std::vector<KernelNotes> notes_on_runs(const Graph& fused);

}  // namespace kiln::jit
