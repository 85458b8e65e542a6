// Owns figures as text, for terminals that show no pixels and for files of text.
#pragma once

#include <string>

#include "interpreter/plot/figure.h"

namespace kiln::interp::plot {

// At most `width` columns; `height` rows of cells within the axes of each panel. Ends in a newline. With
// `color` by escape sequences. A panel of bars alone has a line for each, one of a picture alone no axes.
// ValueError when data has no place on the axes.
std::string figure_text(const Figure& figure, int width, int height, bool color);

// One line a bar: what it is of, a bar, how high it is.
std::string bars_text(const Panel& panel, const Bars& bars, int width, bool color);

// At most `width` columns: half blocks in 24-bit colour, or shades of ASCII.
std::string picture_text(const Picture& picture, int width, bool color);

}  // namespace kiln::interp::plot
