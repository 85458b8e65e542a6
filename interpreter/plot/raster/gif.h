// Owns pictures of few colours and GIF animations, by giflib.
#pragma once

#include <string>
#include <vector>

#include "interpreter/plot/raster/library.h"

namespace kiln::interp::plot {

IndexedPicture indexed_picture(int width, int height, const std::vector<std::uint8_t>& rgb);
std::string gif_bytes(const std::vector<IndexedPicture>& frames, int hundredths);

}  // namespace kiln::interp::plot
