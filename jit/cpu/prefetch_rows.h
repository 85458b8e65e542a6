// Owns which passes over rows prefetch the next row. The processor sees a stream within a page, not that
// pages follow each other.
#pragma once

#include "jit/loops/kernel.h"

namespace kiln::jit {

// Marks loads and stores of a kernel whose rows are not interleaved. An input is prefetched by one pass that
// reads it, passes with more work taking more of them, since a pass that mostly reads would wait for both
// rows. Broadcast inputs are in cache already. Outputs are prefetched, too, since a line is read before it is
// written.
void prefetch_rows(ScheduledKernel& kernel);

}  // namespace kiln::jit
