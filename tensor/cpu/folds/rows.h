// Owns running row programs (tensor/cpu/folds/row_job.h) on tensors: layouts in, contiguous rows, layouts
// out.
#pragma once

#include "tensor/cpu/folds/row_job.h"
#include "tensor/tensor.h"

namespace kiln::cpu {

// x with `dim` moved last, contiguous: `x` itself when it is so already.
Tensor rows_along(const Tensor& x, int dim);
// The way back: where rows along `dim` are computed for the contiguous `output`, which is that itself when
// they lie so; and what brings them there.
Tensor rows_for(const Tensor& output, int dim);
void rows_back(const Tensor& output, const Tensor& rows, int dim);

// Runs a program over all rows in parallel; `dtype` is that of the full tensors, a float.
void run_rows(RowProgram program, DType dtype, const RowJob& job);

// The sums of a job over its rows, in the fixed order: accumulators [2, size]. Sizes, inputs and statistics
// of the job are given; `dtype` is that of its elements.
Tensor column_sums(NormColumnsJob job, DType dtype);

}  // namespace kiln::cpu
