// The fake NVRTC: it has a version and architectures, and compiles nothing yet.
#include <algorithm>

#include "tests/cuda/fake/entries.h"
#include "tests/cuda/fake/settings.h"

namespace kiln::cuda {
namespace {

using namespace kiln::fake;

std::vector<int> architectures() {
  return numbers_in(text_setting("KILN_FAKE_ARCHITECTURES", "75,80,86,87,88,89,90,100,103,110,120,121"), ',');
}

NvrtcResult refuse(std::string_view entry) {
  if (const int set = count_call(entry); set != 0) return set;
  tell_missing(entry);
  return kNvrtcInternalError;
}

}  // namespace

extern "C" {

NvrtcResult nvrtcVersion(int* major, int* minor) {
  if (const int set = count_call("nvrtcVersion"); set != 0) return set;
  if (major == nullptr || minor == nullptr) return kNvrtcInvalidInput;
  const std::vector<int> version = numbers_in(text_setting("KILN_FAKE_NVRTC_VERSION", "13.0"), '.');
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
  *count = static_cast<int>(architectures().size());
  return kNvrtcSuccess;
}

NvrtcResult nvrtcGetSupportedArchs(int* all) {
  if (const int set = count_call("nvrtcGetSupportedArchs"); set != 0) return set;
  if (all == nullptr) return kNvrtcInvalidInput;
  const std::vector<int> known = architectures();
  std::copy(known.begin(), known.end(), all);
  return kNvrtcSuccess;
}

NvrtcResult nvrtcCreateProgram(NvrtcProgram*, const char*, const char*, int, const char* const*,
                               const char* const*) {
  return refuse("nvrtcCreateProgram");
}
NvrtcResult nvrtcDestroyProgram(NvrtcProgram*) { return refuse("nvrtcDestroyProgram"); }
NvrtcResult nvrtcCompileProgram(NvrtcProgram, int, const char* const*) {
  return refuse("nvrtcCompileProgram");
}
NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram, std::size_t*) { return refuse("nvrtcGetProgramLogSize"); }
NvrtcResult nvrtcGetProgramLog(NvrtcProgram, char*) { return refuse("nvrtcGetProgramLog"); }
NvrtcResult nvrtcGetCUBINSize(NvrtcProgram, std::size_t*) { return refuse("nvrtcGetCUBINSize"); }
NvrtcResult nvrtcGetCUBIN(NvrtcProgram, char*) { return refuse("nvrtcGetCUBIN"); }
NvrtcResult nvrtcGetPTXSize(NvrtcProgram, std::size_t*) { return refuse("nvrtcGetPTXSize"); }
NvrtcResult nvrtcGetPTX(NvrtcProgram, char*) { return refuse("nvrtcGetPTX"); }

}  // extern "C"
}  // namespace kiln::cuda
