// Owns the C++ names of Fourier transforms. Complex numbers are pairs (real, imaginary) in the last
// dimension.
#pragma once

#include <string>

#include "tensor/functions.h"

namespace kiln {

// By what a row multiplies a transform of n numbers, by its attribute `norm`: "backward" is 1/n for the
// inverse, "forward" 1/n for the other, "ortho" 1/sqrt(n) for both, and 1 else.
double fourier_factor(const Attrs& attrs, bool inverse, std::int64_t n);

namespace ops {

Tensor dft(const Tensor& x, bool inverse, const std::string& norm = "backward");
Tensor rdft(const Tensor& x, const std::string& norm = "backward");
Tensor irdft(const Tensor& x, Dim n, const std::string& norm = "backward");

}  // namespace ops
}  // namespace kiln
