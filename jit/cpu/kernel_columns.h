// Owns running kernels that reduce down the columns.
#pragma once

#include "jit/cpu/row_worker.h"

namespace kiln::jit {

// All rows through all passes. Gives the accumulators that each reduction down the columns ends with, in the
// sizes `RowPlan::columns`.
Tensors run_columns(RowRun& run, std::int64_t grain);

}  // namespace kiln::jit
