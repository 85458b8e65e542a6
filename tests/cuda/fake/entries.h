// Owns the declarations of what the fake libraries export, made from the product's own: a definition that
// differs from them does not compile.
#pragma once

#include "tensor/cuda/api_types.h"

namespace kiln::cuda {

extern "C" {
#define KILN_EXPORTED(result, name, parameters) __attribute__((visibility("default"))) result name parameters;
#define KILN_ENTRY KILN_EXPORTED
#include "tensor/cuda/driver_api.def"
#define KILN_ENTRY KILN_EXPORTED
#include "tensor/cuda/nvrtc_api.def"
#define KILN_ENTRY KILN_EXPORTED
#include "tensor/cuda/cublaslt_api.def"
#define KILN_ENTRY KILN_EXPORTED
#include "tensor/cuda/nccl_api.def"
#undef KILN_EXPORTED
}

}  // namespace kiln::cuda
