// Owns what each function that draws adds to a panel.
#pragma once

#include "interpreter/host/plot_call.h"

namespace kiln::interp::host {

void add_lines(const PlotCall& call, plot::Panel& panel);
void add_points(const PlotCall& call, plot::Panel& panel);
void add_bars(const PlotCall& call, plot::Panel& panel);
void add_histogram(const PlotCall& call, plot::Panel& panel);
void add_picture(const PlotCall& call, plot::Panel& panel);
void add_heatmap(const PlotCall& call, plot::Panel& panel);
void add_contours(const PlotCall& call, plot::Panel& panel);

// The pixels of a picture with channels, or of a matrix by a map from `extent`; nan is white.
plot::Picture picture_of(const kiln::Tensor& x, const plot::ColorMap& map, const plot::Extent& extent);
// From `vmin` to `vmax`, for none of these from the least or to the greatest finite element.
plot::Extent value_extent(const PlotCall& call, const std::vector<double>& elements);

}  // namespace kiln::interp::host
