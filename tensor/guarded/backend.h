// Owns the guarded device as one that computes: the CPU's kernels, with the device's memory open while they
// run.
#pragma once

#include "tensor/backend.h"

namespace kiln::guarded {

Backend& backend();

}  // namespace kiln::guarded
