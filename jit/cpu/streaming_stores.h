// Owns streaming stores: results that outgrow the last cache, and that nothing in the graph reads, are
// written to memory past the caches. Their lines need not be fetched before they are written, and push out no
// others.
#pragma once

#include "jit/loops/kernel.h"

namespace kiln::jit {

// Marks the stores of a kernel that may stream: not of results that the graph reads. With small results, of
// the sizes that the kernel is made for, it keeps plain stores alone.
void mark_streaming_stores(ScheduledKernel& kernel, const KernelUse& use);

// Do the results of this call, by output, outgrow the last cache, so that the marked stores stream?
bool uses_streaming_stores(const Lowered& kernel, const Schedule& schedule, Inputs results);

// Called before another thread reads what this thread has streamed.
void fence_streaming_stores();

}  // namespace kiln::jit
