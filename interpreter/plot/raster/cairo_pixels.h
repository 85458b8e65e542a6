// Owns drawing by Cairo.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/plot/drawing.h"

namespace kiln::interp::plot {

std::vector<std::uint8_t> cairo_pixels(const Drawing& drawing);

}  // namespace kiln::interp::plot
