// Owns the declarations of what the fake libraries export, made from the product's own: a definition that
// differs from them does not compile.
#pragma once

#include "tensor/cuda/api_types.h"

namespace kiln::cuda {

extern "C" {
#define KILN_ENTRY(result, name, parameters) result name parameters;
#include "tensor/cuda/driver_api.def"
#define KILN_ENTRY(result, name, parameters) result name parameters;
#include "tensor/cuda/nvrtc_api.def"
#define KILN_ENTRY(result, name, parameters) result name parameters;
#include "tensor/cuda/cublaslt_api.def"
}

}  // namespace kiln::cuda
