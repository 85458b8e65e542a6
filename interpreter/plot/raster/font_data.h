// Owns the font of drawings, DejaVu Sans: a part of the library, so that it is the same on every machine.
#pragma once

#include <span>

namespace kiln::interp::plot {

// The bytes of its TrueType file.
std::span<const unsigned char> font_data();

}  // namespace kiln::interp::plot
