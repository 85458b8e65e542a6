// Owns opening the library that makes pixels of drawings.
#pragma once

#include "interpreter/plot/raster/library.h"

namespace kiln::interp::plot {

// Opened at the first call. RuntimeError when it is not there, or belongs to another build.
const RasterLibrary& raster();

}  // namespace kiln::interp::plot
