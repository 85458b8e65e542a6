#include "tensor/cuda/api.h"

#include <dlfcn.h>

namespace kiln::cuda {
namespace {

template <class F>
bool take(void* library, const char* name, F*& entry) {
  entry = reinterpret_cast<F*>(dlsym(library, name));
  return entry != nullptr;
}

}  // namespace

#define KILN_REQUIRED(result, name, parameters) \
  if (!take(library, #name, api.name) && lacking.empty()) lacking = #name;
#define KILN_OPTIONAL(result, name, parameters) take(library, #name, api.name);

#define KILN_ENTRY KILN_REQUIRED
#define KILN_OPTIONAL_ENTRY KILN_OPTIONAL
std::string fill(DriverApi& api, void* library) {
  std::string lacking;
#include "tensor/cuda/driver_api.def"
  return lacking;
}

#define KILN_ENTRY KILN_REQUIRED
#define KILN_OPTIONAL_ENTRY KILN_OPTIONAL
std::string fill(NvrtcApi& api, void* library) {
  std::string lacking;
#include "tensor/cuda/nvrtc_api.def"
  return lacking;
}

#define KILN_ENTRY KILN_REQUIRED
#define KILN_OPTIONAL_ENTRY KILN_OPTIONAL
std::string fill(CublasLtApi& api, void* library) {
  std::string lacking;
#include "tensor/cuda/cublaslt_api.def"
  return lacking;
}

#define KILN_ENTRY KILN_REQUIRED
#define KILN_OPTIONAL_ENTRY KILN_OPTIONAL
std::string fill(NcclApi& api, void* library) {
  std::string lacking;
#include "tensor/cuda/nccl_api.def"
  return lacking;
}

}  // namespace kiln::cuda
