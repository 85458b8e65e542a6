// The fake NVRTC: what it is, and the names of its errors.
#include <algorithm>

#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/nvrtc_options.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {

using namespace kiln::fake;

extern "C" {

NvrtcResult nvrtcVersion(int* major, int* minor) {
  if (const int set = count_call("nvrtcVersion"); set != 0) return set;
  if (major == nullptr || minor == nullptr) return kNvrtcInvalidInput;
  const std::vector<int> version = nvrtc_version();
  *major = version.at(0);
  *minor = version.at(1);
  return kNvrtcSuccess;
}

const char* nvrtcGetErrorString(NvrtcResult error) {
  switch (error) {
    case kNvrtcSuccess:
      return "NVRTC_SUCCESS";
    case kNvrtcInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kNvrtcInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kNvrtcInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kNvrtcCompilation:
      return "NVRTC_ERROR_COMPILATION";
    case kNvrtcInternalError:
      return "NVRTC_ERROR_INTERNAL_ERROR";
    case kNvrtcCancelled:
      return "NVRTC_ERROR_CANCELLED";
    default:
      return "NVRTC_ERROR unknown";
  }
}

NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (const int set = count_call("nvrtcGetNumSupportedArchs"); set != 0) return set;
  if (count == nullptr) return kNvrtcInvalidInput;
  *count = static_cast<int>(nvrtc_architectures().size());
  return kNvrtcSuccess;
}

NvrtcResult nvrtcGetSupportedArchs(int* all) {
  if (const int set = count_call("nvrtcGetSupportedArchs"); set != 0) return set;
  if (all == nullptr) return kNvrtcInvalidInput;
  const std::vector<int> known = nvrtc_architectures();
  std::copy(known.begin(), known.end(), all);
  return kNvrtcSuccess;
}

}  // extern "C"
}  // namespace kiln::cuda
