// Owns what a plot is before it is drawn, and the three ways to draw it: text, SVG, pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace kiln::interp::plot {

struct Series {
  std::string label;  // empty: not in the legend
  std::vector<double> x, y;
};

struct Chart {
  std::string title;
  std::vector<Series> series;
  bool bars = false;  // one series; bar i goes from edges[i] to edges[i + 1]
  std::vector<double> edges;
};

struct Extent {
  double low = 0, high = 1;
  double share(double v) const { return (v - low) / (high - low); }
};
// Of the finite points; never empty, never of width 0.
Extent x_extent(const Chart& chart);
Extent y_extent(const Chart& chart);
// Round numbers within the extent, about `count` of them.
std::vector<double> ticks(const Extent& extent, int count);
std::string tick_text(double value);

struct Color {
  std::uint8_t red, green, blue;
};
Color series_color(std::size_t i);

// Lines of braille dots with axes, ending in a newline. `color`: with ANSI escapes.
std::string draw_text(const Chart& chart, int width, int height, bool color);
// One line a bar: the range, a bar, the count.
std::string draw_bars(const Chart& chart, int width);
std::string draw_svg(const Chart& chart, int width, int height);
// u8 [height, width, 3]
kiln::Tensor draw_pixels(const Chart& chart, int width, int height);

// A picture (files::as_shown) of at most `width` columns: half blocks in 24-bit colour, or shades of ASCII.
std::string picture_text(const kiln::Tensor& image, int width, bool color);
std::string picture_svg(const kiln::Tensor& image);

}  // namespace kiln::interp::plot
