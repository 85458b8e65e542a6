// Owns running row programs (tensor/cpu/row_job.h) on tensors: layouts in, contiguous rows, layouts out.
#pragma once

#include "tensor/cpu/row_job.h"
#include "tensor/tensor.h"

namespace kiln::ops {

// x with `dim` moved last, contiguous: `x` itself when it is so already.
Tensor rows_along(const Tensor& x, int dim);
// The way back: a contiguous tensor of x's dimensions, from rows along `dim`.
Tensor rows_back(const Tensor& rows, int dim);

// Runs a program over all rows in parallel; `dtype` is that of the full tensors, a float.
void run_rows(cpu::RowProgram program, DType dtype, cpu::RowJob job, std::int64_t rows);

}  // namespace kiln::ops
