// Owns pictures as escape sequences of terminals.
#pragma once

#include <string>

#include "interpreter/plot/raster/library.h"

namespace kiln::interp::plot {

// DEC's sixels: bands of six rows, in each band a run of every colour.
std::string sixels(const IndexedPicture& picture);
// Kitty's protocol: a PNG file in pieces of base64.
std::string kitty_picture(std::string_view png);

}  // namespace kiln::interp::plot
