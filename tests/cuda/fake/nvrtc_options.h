// Owns the options of NVRTC that the fake one knows, and what it is: its version and architectures.
#pragma once

#include <string>
#include <vector>

#include "tests/cuda/fake/image.h"

namespace kiln::fake {

std::vector<int> nvrtc_version();  // {13, 0}
std::vector<int> nvrtc_architectures();

struct Options {
  std::string problem;  // a line for the log, where an option is not known
  Architecture architecture;
  bool makes_code = true;  // for sm_90, and not for compute_90
  std::vector<std::string> for_compiler;
  std::vector<std::string> for_nvrtc;  // for a real one: all but the architecture
  std::string virtual_architecture;    // compute_90
};
Options read_options(int count, const char* const* options);

}  // namespace kiln::fake
