// Owns what the library around Cairo, FreeType and giflib gives: pixels of drawings, pictures of few colours,
// animations. It is opened when the first picture is drawn, so that programs without one do not wait for it
// (../raster.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpreter/plot/drawing.h"

namespace kiln::interp::plot {

// Pixels that are numbers of colours.
struct IndexedPicture {
  int width = 0, height = 0;
  std::vector<Color> palette;  // at most 256
  std::vector<std::uint8_t> pixels;
};

struct RasterLibrary {
  // Three bytes a pixel, row by row.
  std::vector<std::uint8_t> (*pixels)(const Drawing& drawing);
  // Exact where there are at most 256 colours, else by the nearest of 256 (median cut).
  IndexedPicture (*indexed)(int width, int height, const std::vector<std::uint8_t>& rgb);
  // The bytes of a GIF that repeats for ever; pictures of one size, each shown for some hundredths of a
  // second. Empty when giflib refuses them.
  std::string (*gif)(const std::vector<IndexedPicture>& frames, int hundredths);
};

}  // namespace kiln::interp::plot
