// Owns the tables of function pointers through which Kiln calls CUDA's libraries. Nothing here is linked: a
// library is opened when a device is first asked for (devices.h), and its table is filled then.
#pragma once

#include <string>

#include "tensor/cuda/api_types.h"

namespace kiln::cuda {

#define KILN_ENTRY(result, name, parameters) result(*name) parameters = nullptr;
struct DriverApi {
#include "tensor/cuda/driver_api.def"
};

#define KILN_ENTRY(result, name, parameters) result(*name) parameters = nullptr;
struct NvrtcApi {
#include "tensor/cuda/nvrtc_api.def"
};

#define KILN_ENTRY(result, name, parameters) result(*name) parameters = nullptr;
struct CublasLtApi {
#include "tensor/cuda/cublaslt_api.def"
};

#define KILN_ENTRY(result, name, parameters) result(*name) parameters = nullptr;
struct NcclApi {
#include "tensor/cuda/nccl_api.def"
};

// Fills a table from an open library. The result is the first required entry point that the library lacks,
// and is empty where it has all of them; optional ones that it lacks stay null.
std::string fill(DriverApi& api, void* library);
std::string fill(NvrtcApi& api, void* library);
std::string fill(CublasLtApi& api, void* library);
std::string fill(NcclApi& api, void* library);

}  // namespace kiln::cuda
