// Owns making a library of the host of a program in CUDA C++, as text: the program has gone through the
// preprocessor, with the shim before it.
#pragma once

#include <string>
#include <string_view>

namespace kiln::fake {

// The text with what is __global__ and __shared__ defined, and with the table of its kernels behind it. Its
// lines keep their numbers.
std::string library_text(std::string_view preprocessed);

}  // namespace kiln::fake
