// Owns lines of equal height.
#pragma once

#include <vector>

#include "interpreter/plot/figure.h"

namespace kiln::interp::plot {

// Heights at the crossings of a grid, row by row; those that are not finite are holes.
struct Field {
  std::size_t rows = 0, columns = 0;
  std::vector<double> heights;
  std::vector<double> x, y;  // of columns and rows
  double at(std::size_t row, std::size_t column) const { return heights[row * columns + column]; }
};

// The curves where the field, linear between its crossings, has each level (marching squares; saddles by the
// mean of their corners). Colours go along `map` with the levels.
Contours contours_of(const Field& field, const std::vector<double>& levels, const ColorMap& map);

}  // namespace kiln::interp::plot
