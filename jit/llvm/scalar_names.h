// Owns what the scalar functions in bitcode are called: by row of elementwise.def and the types they compute
// in.
#pragma once

#include <string>

#include "tensor/compute.h"
#include "tensor/dtype.h"

namespace kiln::jit {

std::string row_name(int row);
// Does a second function of the row compute the elements outside of the common range?
bool has_range(int row);

std::string name_of(Compute compute);
std::string name_of(DType dtype);
DType dtype_of(Compute compute);

}  // namespace kiln::jit
