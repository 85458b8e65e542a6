// A library in place of any of CUDA's that starts well and lacks the rest.
#include "tests/cuda/fake/entries.h"

namespace kiln::cuda {
extern "C" {

Result cuDriverGetVersion(int* version) {
  *version = 12000;
  return kSuccess;
}

NvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 0;
  return kNvrtcSuccess;
}

const char* nvrtcGetErrorString(NvrtcResult) { return ""; }

std::size_t cublasLtGetVersion() { return 120000; }

}  // extern "C"
}  // namespace kiln::cuda
