// Owns convolutions of f32 through oneDNN: its primitives, kept by shape, and the reorders around them.
#pragma once

#include "tensor/cpu/convolution.h"

namespace kiln::cpu::onednn {

// As those of tensor/cpu/convolution.h. False, with nothing done, when oneDNN 2 is not installed or has no
// such convolution.
//
// How it is called, since results depend on it: always one image (for the gradient of the weight one block
// of images) per primitive and one thread per primitive, threads taking images; oneDNN chooses the layouts
// ("any"), images are reordered to and from them one at a time, while in cache, weights once per call.
bool convolve(const ConvShape& shape, const float* x, const float* weight, const float* bias, float* y);
bool convolve_input(const ConvShape& shape, const float* y, const float* weight, float* x);
bool convolve_weight(const ConvShape& shape, const float* x, const float* y, float* weight);

}  // namespace kiln::cpu::onednn
