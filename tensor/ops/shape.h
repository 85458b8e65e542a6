// Owns what the kernels of the shape family ask of its rows.
#pragma once

#include "tensor/shape.h"

namespace kiln {

// A vector without elements joins with anything, as it always could.
inline bool is_skipped_by_cat(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == 0; }

}  // namespace kiln
