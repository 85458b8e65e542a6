// Owns the choice of what the elements of a job's blocks are, and single values in that type.
#pragma once

#include <span>

#include "tensor/cpu/elementwise/elementwise.h"

namespace kiln::cpu {

// What the elements of blocks are, and the kernels for it.
struct ElementForm {
  DType element;
  BlockKernel block;
  const RowsKernel* rows;  // by the operands that are one element for each row
};

// One that needs no conversions before the kernel, where there is such; else that of the job's arithmetic.
ElementForm choose_form(const ElementwiseJob& job, std::span<const Operand> operands, const Tensor& output);

bool is_half(DType dtype);
bool is_narrow(DType dtype);  // a bool, or an integer narrower than the arithmetic

// The first n elements of a block of `element`: what an absent operand counts as, where infinities of
// integers are their extrema; and the one value of a tensor of bools or integers.
void fill_absent(DType element, double value, std::byte* block, std::int64_t n);
void fill_integer(DType element, const Tensor& value, std::byte* block, std::int64_t n);

}  // namespace kiln::cpu
