// Owns cutting lines and polygons at the edges of a box.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "interpreter/plot/drawing.h"

namespace kiln::interp::plot {

// The part of a line from a to b in the box (Liang and Barsky, 1984); nothing when it passes by.
std::optional<std::pair<Point, Point>> clipped_line(Point a, Point b, const Box& box);

// The part of a polygon in the box (Sutherland and Hodgman, 1974); empty where no part of it is in the box.
std::vector<Point> clipped_polygon(std::vector<Point> points, const Box& box);

}  // namespace kiln::interp::plot
