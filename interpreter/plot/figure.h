// Owns what a figure is before it is laid out: panels with axes, and layers of data in the units of the axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "interpreter/plot/color.h"

namespace kiln::interp::plot {

struct Extent {
  double low = 0, high = 1;
  double share(double v) const { return (v - low) / (high - low); }
};

// Coordinates that are not finite are gaps.
struct Line {
  std::string label;  // empty: not in the legend
  Color color;
  std::vector<double> x, y;
};
struct Points {
  std::string label;
  std::vector<Color> colors;  // one of all, or one of each
  std::vector<double> x, y;
  double radius = 3;  // pixels
  double opacity = 1;
};
// From 0 to heights[i] over spans[i].
struct Bars {
  std::string label;
  Color color;
  std::vector<Extent> spans;
  std::vector<double> heights;
};
struct Band {
  std::string label;
  Color color;
  std::vector<double> x, low, high;
};
// Pixel (column, row) is the square around (column, row); row 0 is on top.
struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};
struct Contours {
  struct Curve {
    Color color;
    std::vector<double> x, y;
  };
  std::vector<Curve> curves;
  Extent x, y;  // of the whole field
};
// Words at places.
struct Notes {
  struct Note {
    double x = 0, y = 0;
    std::string text;
    Color color;
  };
  std::vector<Note> notes;
};
using Layer = std::variant<Line, Points, Bars, Band, Picture, Contours, Notes>;

struct Axis {
  std::string label;
  std::optional<double> low, high;  // limits that were asked for
  bool is_log = false;
  bool is_reversed = false;
  bool is_counted = false;                            // numbers between whole ones are not written
  std::vector<std::pair<double, std::string>> names;  // in place of numbers
};

struct ColorBar {
  const ColorMap* map = nullptr;
  Extent extent;
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Layer> layers;
  std::optional<ColorBar> color_bar;
  std::optional<bool> legend;  // absent: when a layer has a label
  bool is_square = false;      // a unit of x is as long as one of y
  std::size_t next_color = 0;  // of the next series
};

struct Figure {
  std::string title;
  int rows = 1, columns = 1;
  std::vector<Panel> panels = std::vector<Panel>(1);  // along rows
};

}  // namespace kiln::interp::plot
