// Owns where figures go: to the terminal, or to a file.
#pragma once

#include <string>

#include "interpreter/plot/figure.h"
#include "interpreter/values/objects.h"

namespace kiln::interp::host {

// Draws on the terminal where no `file` is given: as pixels where it shows them, else as text; `width` and
// `height` are columns and rows there, pixels in a file (.svg .png .ppm).
struct Output {
  const Value& width;
  const Value& height;
  const Value& file;
};
void show_figure(Interpreter& interpreter, const plot::Figure& figure, const Output& output);

// The bytes of a PNG file of the figure, in its own size.
std::string figure_png(const plot::Figure& figure);

// The size of a figure in pixels where none is asked for.
int default_width(const plot::Figure& figure);
int default_height(const plot::Figure& figure);

}  // namespace kiln::interp::host
