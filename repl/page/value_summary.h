// Owns a tensor in a line: its type, its range, and what is not finite.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace kiln::repl {

// "f32[2, 3] cpu 24 B, from -1 to 3, mean 0.5"; the elements themselves where they are few.
std::string value_summary(const Tensor& x);

}  // namespace kiln::repl
