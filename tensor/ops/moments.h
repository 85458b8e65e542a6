// Owns what the kernels of moments ask of their rows.
#pragma once

#include "tensor/op.h"

namespace kiln {

// What squares are divided by: the count less the correction, never negative, and 0 for no elements.
double degrees(const Tensor& x, const Attrs& attrs);

// Where the greatest element is very large or very small, `std` scales all by a power of two first, which
// changes no digit.
struct Scale {
  double bound, factor;
};
struct Scales {
  Scale large;         // for what is above its bound
  Scale small, tiny;   // for what is below theirs
  double least, most;  // means of squares that no scale would change lie between
};
Scales scales_of(DType dtype);

// The dtype of logsumexp: integers become the default float.
DType logsumexp_dtype(DType dtype);

}  // namespace kiln
