// Owns a program's PTX as people read it, with marks of the lines of its nests.
#pragma once

#include <string>

namespace kiln::jit {

// The PTX that NVRTC makes of a program with marks (jit/cuda/emit.h), with marks in front of the instructions
// of each line. It is for the first card; on a machine without cards it is for compute capability 9.0. The
// function throws OpError (Device) where NVRTC cannot be used.
std::string marked_ptx(const std::string& marked_text);

}  // namespace kiln::jit
