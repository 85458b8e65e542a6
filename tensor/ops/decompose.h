// Owns what the kernels of decompositions ask of their rows.
#pragma once

#include "tensor/op.h"

namespace kiln {

// Which triangle of a symmetric matrix is read: the attribute `UPLO`. Throws OpError (Value).
bool reads_upper(const Attrs& attrs);

}  // namespace kiln
