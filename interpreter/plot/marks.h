// Owns the way from layers of data to shapes.
#pragma once

#include "interpreter/plot/drawing.h"
#include "interpreter/plot/figure.h"
#include "interpreter/plot/scale.h"

namespace kiln::interp::plot {

// What a panel shows within its axes. Points that would not be told apart are drawn once: a line has at most
// four points for each unit of the drawing that it goes through sideways.
Shapes marks_of(const Panel& panel, const Ruler& x, const Ruler& y);

}  // namespace kiln::interp::plot
