// Owns how the host computes what a card has no kernel for: operands go to the host, the CPU's kernel runs,
// and the results come back. So every row runs on a card, with the CPU's bits.
#pragma once

#include "tensor/backend.h"

namespace kiln::cuda {

// The kernel of one row, and why the host has it.
void add_kernel_on_host(Kernels& kernels, const Op& op, std::string_view reason);

// A kernel for each row that the CPU has one for and `kernels` none, and that has no body: what a body gives
// has the bits of the kernel.
void add_kernels_on_host(Kernels& kernels);

}  // namespace kiln::cuda
