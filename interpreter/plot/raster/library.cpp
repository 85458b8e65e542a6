#include "interpreter/plot/raster/library.h"

#include "interpreter/plot/raster/cairo_pixels.h"
#include "interpreter/plot/raster/gif.h"

// What the program looks for.
extern "C" __attribute__((visibility("default"))) const kiln::interp::plot::RasterLibrary KILN_RASTER_TABLE;
const kiln::interp::plot::RasterLibrary KILN_RASTER_TABLE = {
    kiln::interp::plot::cairo_pixels, kiln::interp::plot::indexed_picture, kiln::interp::plot::gif_bytes};
