// Owns printing loop nests as CUDA C++.
#pragma once

#include <span>
#include <string>

#include "jit/loops/schedule.h"

namespace kiln::jit {

// A program with a kernel for each nest, `kernel_symbol` by name, and of the arguments that
// jit/cuda/arguments.h fills in. With `marks` each statement is preceded by the line of the nest it belongs
// to (jit/passes/target.h).
std::string cuda_text(std::span<const ScheduledNest> nests, bool marks);

// What elements of a dtype are there, and what combines them.
const char* cuda_element(DType dtype);
const char* cuda_combine(cpu::Combine combine);

}  // namespace kiln::jit
