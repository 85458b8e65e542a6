// Pictures in a terminal.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "interpreter/plot/chart.h"
#include "tensor/host_view.h"

namespace kiln::interp::plot {
namespace {

constexpr std::string_view kShades = " .:-=+*#%@";

// The mean colour of a box of pixels.
Color mean(const kiln::Tensor& image, const std::uint8_t* data, kiln::Dim y0, kiln::Dim y1, kiln::Dim x0,
           kiln::Dim x1) {
  const kiln::Dim channels = image.size(2);
  std::int64_t sums[3] = {0, 0, 0};
  for (kiln::Dim y = y0; y < y1; ++y) {
    for (kiln::Dim x = x0; x < x1; ++x) {
      const auto* p = data + (y * image.size(1) + x) * channels;
      for (int c = 0; c < 3; ++c) sums[c] += p[channels == 1 ? 0 : c];
    }
  }
  const std::int64_t count = (y1 - y0) * (x1 - x0);
  const auto level = [&](int c) { return static_cast<std::uint8_t>(sums[c] / count); };
  return {level(0), level(1), level(2)};
}

// The picture cut into rows x columns boxes, each of at least one pixel.
class Boxes {
 public:
  Boxes(const kiln::Tensor& image, kiln::Dim rows, kiln::Dim columns)
      : image_(image), elements_(image), rows_(rows), columns_(columns) {}
  Color at(kiln::Dim r, kiln::Dim c) const {
    const auto edge = [](kiln::Dim i, kiln::Dim n, kiln::Dim size) { return i * size / n; };
    const kiln::Dim y0 = edge(r, rows_, image_.size(0));
    const kiln::Dim x0 = edge(c, columns_, image_.size(1));
    return mean(image_, elements_.as<std::uint8_t>(), y0,
                std::max(edge(r + 1, rows_, image_.size(0)), y0 + 1), x0,
                std::max(edge(c + 1, columns_, image_.size(1)), x0 + 1));
  }

 private:
  const kiln::Tensor& image_;
  kiln::HostView elements_;
  kiln::Dim rows_, columns_;
};

std::string in_color(const Boxes& boxes, kiln::Dim rows, kiln::Dim columns) {
  std::string text;
  for (kiln::Dim r = 0; r < rows; r += 2) {
    for (kiln::Dim c = 0; c < columns; ++c) {
      const Color top = boxes.at(r, c);
      text += fmt::format("\x1b[38;2;{};{};{}m", top.red, top.green, top.blue);
      if (r + 1 < rows) {
        const Color bottom = boxes.at(r + 1, c);
        text += fmt::format("\x1b[48;2;{};{};{}m", bottom.red, bottom.green, bottom.blue);
      }
      text += "▀";
    }
    text += "\x1b[0m\n";
  }
  return text;
}

std::string in_shades(const Boxes& boxes, kiln::Dim rows, kiln::Dim columns) {
  std::string text;
  for (kiln::Dim r = 0; r < rows; ++r) {
    std::string line;
    for (kiln::Dim c = 0; c < columns; ++c) {
      const Color box = boxes.at(r, c);
      const int light = (299 * box.red + 587 * box.green + 114 * box.blue) / 1000;
      line += kShades[static_cast<std::size_t>(light) * kShades.size() / 256];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string picture_text(const kiln::Tensor& image, int width, bool color) {
  if (color) {
    const kiln::Dim columns = std::min<kiln::Dim>(image.size(1), width);
    const kiln::Dim rows = std::clamp<kiln::Dim>(image.size(0) * columns / image.size(1), 1, image.size(0));
    return in_color(Boxes(image, rows, columns), rows, columns);
  }
  // A character is about twice as high as it is wide: two for each pixel where there is room.
  const kiln::Dim columns = std::min<kiln::Dim>(image.size(1) * 2, width);
  const kiln::Dim rows =
      std::clamp<kiln::Dim>(image.size(0) * columns / (image.size(1) * 2), 1, image.size(0));
  return in_shades(Boxes(image, rows, columns), rows, columns);
}

}  // namespace kiln::interp::plot
