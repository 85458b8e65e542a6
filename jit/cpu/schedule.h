// Owns the CPU's schedules: which of its policies a kernel gets. Each policy is a file of its own:
// interleaved short rows, hoisted loads, unrolling, prefetched rows, streaming stores.
#pragma once

#include "jit/loops/kernel.h"

namespace kiln::jit {

// Rows of fewer elements are not worth a call each.
inline constexpr std::int64_t kInterleavedRow = 64;

ScheduledKernel schedule_for_cpu(Lowered kernel, const KernelUse& use);

}  // namespace kiln::jit
