#include "interpreter/plot/sixel.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "interpreter/plot/png_data.h"

namespace kiln::interp::plot {
namespace {

constexpr int kBand = 6;
constexpr std::size_t kPiece = 4096;  // the most that kitty takes at once
constexpr std::string_view kEnd = "\x1b\\";

void append_run(std::string& text, char sixel, int length) {
  if (length > 3) {
    text += fmt::format("!{}{}", length, sixel);
  } else {
    text.append(static_cast<std::size_t>(length), sixel);
  }
}

// One colour of a band: a letter for each column, whose bits are the rows.
std::string color_of_band(const IndexedPicture& picture, int top, std::size_t color) {
  std::string text;
  char last = 0;
  int run = 0;
  for (int x = 0; x < picture.width; ++x) {
    int bits = 0;
    for (int dy = 0; dy < std::min(kBand, picture.height - top); ++dy) {
      if (picture.pixels[static_cast<std::size_t>((top + dy) * picture.width + x)] == color) bits |= 1 << dy;
    }
    const char sixel = static_cast<char>('?' + bits);
    if (sixel != last && run > 0) append_run(text, last, std::exchange(run, 0));
    last = sixel;
    ++run;
  }
  append_run(text, last, run);
  return text;
}

}  // namespace

std::string sixels(const IndexedPicture& picture) {
  std::string text = fmt::format("\x1bP0;1q\"1;1;{};{}", picture.width, picture.height);
  const auto percent = [](std::uint8_t level) { return (level * 100 + 127) / 255; };
  for (std::size_t i = 0; i < picture.palette.size(); ++i) {
    const Color c = picture.palette[i];
    text += fmt::format("#{};2;{};{};{}", i, percent(c.red), percent(c.green), percent(c.blue));
  }
  for (int top = 0; top < picture.height; top += kBand) {
    const auto begin = picture.pixels.begin() + std::ptrdiff_t{top} * picture.width;
    const auto end =
        picture.pixels.begin() + std::ptrdiff_t{std::min(top + kBand, picture.height)} * picture.width;
    std::vector<bool> is_there(picture.palette.size());
    std::for_each(begin, end, [&](std::uint8_t pixel) { is_there[pixel] = true; });
    for (std::size_t color = 0; color < is_there.size(); ++color) {
      if (is_there[color]) text += fmt::format("#{}{}$", color, color_of_band(picture, top, color));
    }
    text += '-';
  }
  return text + std::string(kEnd);
}

std::string kitty_picture(std::string_view png) {
  const std::string data = base64(png);
  std::string text;
  for (std::size_t at = 0; at < data.size(); at += kPiece) {
    const bool is_last = at + kPiece >= data.size();
    text += fmt::format("\x1b_G{}m={};{}{}", at == 0 ? "a=T,f=100,q=2," : "", is_last ? 0 : 1,
                        std::string_view(data).substr(at, kPiece), kEnd);
  }
  return text;
}

}  // namespace kiln::interp::plot
