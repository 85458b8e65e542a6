// Owns convolutions of dense planes on the CPU, and the two maps adjoint to them.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/cpu/products/result_pieces.h"

namespace kiln::cpu {

// One convolution over planes of two dimensions (one dimension: a height of 1). Channels are those of one
// group. `out` may be less than what the input has room for: the last places are then left out.
struct ConvShape {
  using Pair = std::array<std::int64_t, 2>;  // along the height, along the width

  std::int64_t batch = 1, groups = 1;
  std::int64_t in_channels = 1, out_channels = 1;
  Pair in{1, 1}, kernel{1, 1}, out{1, 1};
  Pair stride{1, 1}, padding{0, 0}, dilation{1, 1};

  std::int64_t in_plane() const { return in[0] * in[1]; }
  std::int64_t out_plane() const { return out[0] * out[1]; }
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t weights() const { return groups * out_channels * in_channels * taps(); }
  friend auto operator<=>(const ConvShape&, const ConvShape&) = default;
};

// All tensors are contiguous and of one dtype, any but bool and f16: x [batch, groups *
// in_channels, in], weight [groups * out_channels, in_channels, kernel], y [batch, groups * out_channels,
// out]; bias [groups * out_channels] or absent. The result, the last argument, is written whole.
//
// Images are computed one by one, so an image's result has the same bits in any batch. The gradient of the
// weight sums blocks of images, which its sizes alone determine, and then the blocks in order. Nothing
// depends on the number of threads. f32 and bf16, which adds up in f32, go through oneDNN where that is
// installed, else like the other dtypes through a product of matrices; the two round differently.
// `pieces` are given the result: by images where these are computed so, else when it is whole.
void convolve(const ConvShape& shape, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Tensor& y, ResultPieces* pieces = nullptr);
void convolve_input(const ConvShape& shape, const Tensor& y, const Tensor& weight, const Tensor& x,
                    ResultPieces* pieces = nullptr);
void convolve_weight(const ConvShape& shape, const Tensor& x, const Tensor& y, const Tensor& weight);

}  // namespace kiln::cpu
