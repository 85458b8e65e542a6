// Owns notes on how the CPU runs kernels, beside their loop nests: how threads share them, where elements are
// copied before they are read.
#pragma once

#include "jit/loops/kernel_op.h"

namespace kiln::jit {

// Fills in the notes on the kernels that the CPU runs, in the order of `kernels_of` (Target::note).
void note_kernels(const Graph& fused, std::span<KernelNotes> notes);

}  // namespace kiln::jit
