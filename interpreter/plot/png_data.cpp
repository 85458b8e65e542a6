#include "interpreter/plot/png_data.h"

#include <array>
#include <cstring>

#include "interpreter/files/formats.h"
#include "tensor/host_view.h"

namespace kiln::interp::plot {

kiln::Tensor pixels_tensor(int width, int height, const std::vector<std::uint8_t>& rgb) {
  const kiln::Tensor image = kiln::Tensor::empty(std::array<kiln::Dim, 3>{height, width, 3}, kiln::DType::U8);
  const kiln::WritableHostView view(image);
  std::memcpy(view.bytes(), rgb.data(), view.byte_count());
  return image;
}

std::string png_bytes(int width, int height, const std::vector<std::uint8_t>& rgb) {
  files::MemorySink sink;
  files::write_png(sink, pixels_tensor(width, height, rgb));
  return std::move(sink.content);
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

}  // namespace kiln::interp::plot
