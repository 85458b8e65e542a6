// Owns convolutions of f32 and bf16 through oneDNN: how they are cut for threads.
#pragma once

#include "tensor/cpu/convolution/convolution.h"

namespace kiln::cpu::onednn {

// As those of tensor/cpu/convolution/convolution.h, for f32 and bf16, in pieces for f32. False, with nothing
// done, when oneDNN 2 is not installed or has no such convolution on this machine. The gradient of the weight
// is f32 for both.
//
// How it is called, since results depend on it: always one image (for the gradient of the weight one block of
// images) per primitive, or one stripe of the rows of large ones, cut by the sizes alone; one thread per
// primitive, threads taking images and stripes; oneDNN chooses the layouts ("any"), images are reordered to
// and from them one at a time, while in cache, weights once per call.
bool convolve(const ConvShape& shape, DType dtype, const std::byte* x, const std::byte* weight,
              const std::byte* bias, std::byte* y, ResultPieces* pieces = nullptr);
bool convolve_input(const ConvShape& shape, DType dtype, const std::byte* y, const std::byte* weight,
                    std::byte* x, ResultPieces* pieces = nullptr);
bool convolve_weight(const ConvShape& shape, DType dtype, const std::byte* x, const std::byte* y,
                     float* weight);

}  // namespace kiln::cpu::onednn
