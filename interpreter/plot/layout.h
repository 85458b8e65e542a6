// Owns the layout of figures: where panels, axes, numbers, names and legends stand.
#pragma once

#include <vector>

#include "interpreter/plot/drawing.h"
#include "interpreter/plot/figure.h"

namespace kiln::interp::plot {

// ValueError when data has no place on the axes.
Drawing laid_out(const Figure& figure, int width, int height);

// What a legend says of a layer.
struct LegendEntry {
  enum class Mark { Line, Dot, Block } mark;
  std::string label;
  Color color;
};
// Of the layers with labels; none where the panel is to have no legend.
std::vector<LegendEntry> legend_of(const Panel& panel);

// The legend, in the corner of `box` where it covers the least of what is there.
void add_legend(Shapes& shapes, const std::vector<LegendEntry>& entries, const Box& box);

}  // namespace kiln::interp::plot
