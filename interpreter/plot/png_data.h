// Owns pixels as the bytes of a PNG file, and bytes as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::interp::plot {

// u8 [height, width, 3] of pixels of three bytes.
kiln::Tensor pixels_tensor(int width, int height, const std::vector<std::uint8_t>& rgb);
std::string png_bytes(int width, int height, const std::vector<std::uint8_t>& rgb);
std::string base64(std::string_view bytes);

}  // namespace kiln::interp::plot
