// Owns how the host computes what a card has no kernel for: operands go to the host, the CPU's kernel runs,
// and the results come back. So every row runs on a card, with the CPU's bits.
#pragma once

#include "tensor/backend.h"

namespace kiln::cuda {

// A kernel for each row that the CPU has one for and `kernels` none.
void add_kernels_on_host(Kernels& kernels);

}  // namespace kiln::cuda
