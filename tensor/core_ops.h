// Owns the names of the ops that passes, the recorder and kernels make or look for by themselves. All else is
// data of rows: what a pass must know of other ops is a column.
#pragma once

#include "tensor/op.h"

namespace kiln {

struct CoreOps {
  const Op &add, &add_alpha, &allreduce_start, &allreduce_wait, &as_strided, &as_strided_scatter, &cast, &cat,
      &clone, &copy, &detach, &expand, &flip, &full, &index, &index_put, &masked_fill, &matmul, &mul,
      &new_zeros, &permute, &skip_draws, &slice, &straight_through, &sub, &sub_alpha, &transfer, &view;
};
const CoreOps& core_ops();

}  // namespace kiln
