// Owns calling NVRTC.
#pragma once

#include <string>
#include <vector>

namespace kiln::cuda {

enum class CodeForm : unsigned char { Cubin, Ptx };

// The options a program is compiled with for a compute capability: 90 is sm_90.
std::vector<std::string> compile_options(int capability);

// The program's code for cards of that capability, or its PTX. Throws InternalError with NVRTC's words where
// it does not compile, and OpError (Interrupted) where Ctrl-C ends that.
std::string compiled(const std::string& text, int capability, CodeForm form);

}  // namespace kiln::cuda
