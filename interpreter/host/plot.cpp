// The functions that draw, each by itself or as a method of a figure.
#include <algorithm>

#include "interpreter/host/animation.h"
#include "interpreter/host/figure_value.h"
#include "interpreter/host/plot_call.h"
#include "interpreter/host/plot_layers.h"
#include "interpreter/host/plot_output.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;
using Adds = void (*)(const PlotCall& call, plot::Panel& panel);

// A function of a table, for its name and its parameters; kept as long as the process.
const Value& kept_native(std::span<const NativeDef> table, NativeFn function) {
  return *new Value(make_native(*std::ranges::find(table, function, &NativeDef::call)));
}
PlotCall call_of(Interpreter& interpreter, const Value& native, Args arguments) {
  return {interpreter, native.as<Native>().name, native.as<Native>().parameters, arguments};
}

template <Adds add>
Value draw(Interpreter& interpreter, Args a) {
  static const Value& self = kept_native(plot_natives(), draw<add>);
  const PlotCall call = call_of(interpreter, self, a);
  plot::Figure figure;
  add(call, figure.panels.front());
  set_axes(figure.panels.front(), call);
  show_figure(interpreter, figure, {call["width"], call["height"], call["file"]});
  return {};
}

template <Adds add>
Value draw_on(Interpreter& interpreter, Args a) {
  static const Value& self = kept_native(figure_methods(), draw_on<add>);
  const PlotCall call = call_of(interpreter, self, a);
  // What cannot be drawn leaves the figure as it was.
  plot::Panel panel = panel_of(a[0]);
  add(call, panel);
  set_axes(panel, call);
  panel_of(a[0]) = std::move(panel);
  return a[0];
}

void add_nothing(const PlotCall&, plot::Panel&) {}

#define KILN_AXES "xlabel=none, ylabel=none, xlim=none, ylim=none, xscale=none, yscale=none, legend=none"
#define KILN_OUTPUT "width=none, height=none, file=none"
#define KILN_LINES "x=none, labels=none, label=none, color=none, band=none"
#define KILN_POINTS \
  "x, y, *, label=none, color=none, c=none, cmap=none, vmin=none, vmax=none, size=none, alpha=none"
#define KILN_MATRIX "xnames=none, ynames=none, values=false, cmap=none, vmin=none, vmax=none"
#define KILN_CONTOUR "z, *, x=none, y=none, levels=none, cmap=none"

constexpr NativeDef kPlotNatives[] = {
    {"plot(*ys, " KILN_LINES ", title=none, " KILN_OUTPUT ", " KILN_AXES ")",
     "Draws lines: each argument a list or tensor of numbers, or a matrix of one line a row. In the "
     "terminal, or to "
     "`file` (.svg .png .ppm). `band` is drawn around a line: half its width, or (low, high).",
     draw<add_lines>},
    {"scatterplot(" KILN_POINTS ", title=none, " KILN_OUTPUT ", " KILN_AXES ")",
     "Draws points; with `c` each has the colour of a number on the map `cmap`.", draw<add_points>},
    {"bar(x, heights, *, label=none, color=none, title=none, " KILN_OUTPUT ", " KILN_AXES ")",
     "Draws a bar for each of `x`, names or numbers.", draw<add_bars>},
    {"hist(x, bins=none, title=none, " KILN_OUTPUT ", *, label=none, color=none, " KILN_AXES ")",
     "Draws how often numbers fall in each of `bins` (10) equal ranges.", draw<add_histogram>},
    {"imshow(x, vmin=none, vmax=none, width=none, file=none, *, height=none, cmap=none, colorbar=false, "
     "title=none, " KILN_AXES ")",
     "Draws a matrix in colours from its least to its greatest element, or a picture with 1, 3 or 4 "
     "channels.",
     draw<add_picture>},
    {"heatmap(x, *, " KILN_MATRIX ", title=none, " KILN_OUTPUT ", " KILN_AXES ")",
     "Draws a matrix as coloured cells beside its scale of colours, with names of columns and rows, and with "
     "`values=true` with its numbers.",
     draw<add_heatmap>},
    {"contour(" KILN_CONTOUR ", title=none, " KILN_OUTPUT ", " KILN_AXES ")",
     "Draws lines of equal height of a matrix: about `levels` (8) of them, or those of a list.",
     draw<add_contours>},
    {"subplots(rows=1, columns=1, title=\"\")",
     "A figure of rows x columns panels, on which methods draw: `at` chooses a panel, `save` and `show` end "
     "it.\n"
     ">>> subplots(1, 2)\nfigure of 1 x 2",
     make_subplots},
    {"animate(frames, file, *, fps=10, cmap=none, vmin=none, vmax=none, width=none, height=none)",
     "Writes matrices, pictures or figures one after the other as a GIF.", animate},
};

constexpr NativeDef kFigureMethods[] = {
    {"plot(self, *ys, " KILN_LINES ", title=none, " KILN_AXES ")", "Draws lines on the panel.",
     draw_on<add_lines>},
    {"scatter(self, " KILN_POINTS ", title=none, " KILN_AXES ")", "Draws points on the panel.",
     draw_on<add_points>},
    {"bar(self, x, heights, *, label=none, color=none, title=none, " KILN_AXES ")",
     "Draws bars on the panel.", draw_on<add_bars>},
    {"hist(self, x, bins=none, title=none, *, label=none, color=none, " KILN_AXES ")",
     "Draws how often numbers fall in each of `bins` (10) equal ranges on the panel.",
     draw_on<add_histogram>},
    {"imshow(self, x, vmin=none, vmax=none, *, cmap=none, colorbar=false, title=none, " KILN_AXES ")",
     "Draws a matrix or a picture on the panel.", draw_on<add_picture>},
    {"heatmap(self, x, *, " KILN_MATRIX ", title=none, " KILN_AXES ")", "Draws a matrix on the panel.",
     draw_on<add_heatmap>},
    {"contour(self, " KILN_CONTOUR ", title=none, " KILN_AXES ")",
     "Draws lines of equal height on the panel.", draw_on<add_contours>},
    {"set(self, *, title=none, " KILN_AXES ")", "Sets what is said about the panel, and its axes.",
     draw_on<add_nothing>},
    {"at(self, row, column=none)",
     "The same figure at another panel, by its row and column, or counted along rows.", figure_at},
    {"save(self, file, *, width=none, height=none)", "Writes the figure to a file (.svg .png .ppm).",
     save_figure},
    {"show(self, *, width=none, height=none)", "Shows the figure in the terminal.", show_figure_value},
};

#undef KILN_AXES
#undef KILN_OUTPUT
#undef KILN_LINES
#undef KILN_POINTS
#undef KILN_MATRIX
#undef KILN_CONTOUR

}  // namespace

std::span<const NativeDef> plot_natives() { return kPlotNatives; }
std::span<const NativeDef> host::figure_methods() { return kFigureMethods; }

}  // namespace kiln::interp
