// Owns cards as devices that compute.
#pragma once

#include "tensor/backend.h"

namespace kiln::cuda {

// Of a card that can be used; null for others, and the libraries of CUDA are looked for to tell.
Backend* backend_of(Device device);

// The kernels of all cards, whether one is here or not.
const Kernels& column();

}  // namespace kiln::cuda
