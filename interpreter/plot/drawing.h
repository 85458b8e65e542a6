// Owns what a drawing is: shapes in pixels, from left to right and from top to bottom, that each way of
// showing one (drawing_svg.cpp, raster/, text_canvas.cpp) draws in order.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "interpreter/plot/color.h"

namespace kiln::interp::plot {

struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// A line through two or more points.
struct Stroke {
  std::vector<Point> points;
  Color color;
  double width = 1;
};
// A polygon.
struct Fill {
  std::vector<Point> points;
  Color color;
  double opacity = 1;
};
struct Block {
  Box box;
  Color color;
  double opacity = 1;
};
struct Dots {
  std::vector<Point> centers;
  std::vector<Color> colors;  // one of all, or one of each
  double radius = 3;
  double opacity = 1;
  Color color(std::size_t i) const { return colors[colors.size() == 1 ? 0 : i]; }
};
enum class Anchor { Start, Middle, End };
struct Words {
  Point at;  // on the base line
  std::string text;
  double size = 12;
  Anchor anchor = Anchor::Start;
  bool upright = false;  // read from bottom to top
  Color color = {38, 38, 38};
};
// Pixels of three bytes, stretched over the box without smoothing.
struct Image {
  Box box;
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};
// What follows is shown within the box only; without one, everywhere.
struct Clip {
  std::optional<Box> box;
};

using Shape = std::variant<Stroke, Fill, Block, Dots, Words, Image, Clip>;
using Shapes = std::vector<Shape>;

// On white.
struct Drawing {
  int width = 0, height = 0;
  Shapes shapes;
};

// How wide a text is in DejaVu Sans, the font of all drawings, at a size in pixels.
double text_width(std::string_view text, double size);

std::string drawing_svg(const Drawing& drawing);

}  // namespace kiln::interp::plot
