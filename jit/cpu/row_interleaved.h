// Owns interleaving short rows: each vector of the kernel holds the elements at one place of many rows. So
// the elements that a reduction combines are in different vectors, and no row costs a call of its own.
#pragma once

#include "jit/loops/kernel.h"

namespace kiln::jit {

// The kernel with kVector rows interleaved: each pass over a row becomes one that computes numbers of the
// rows, if there are any, and one down the rows. Of kernels without columns.
ScheduledKernel interleave_rows(Lowered rows);

}  // namespace kiln::jit
