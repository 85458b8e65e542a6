#include "interpreter/host/plot_output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/host/terminal_pictures.h"
#include "interpreter/plot/figure_text.h"
#include "interpreter/plot/layout.h"
#include "interpreter/plot/png_data.h"
#include "interpreter/plot/raster.h"
#include "interpreter/vm/arguments.h"

namespace kiln::interp::host {
namespace {

constexpr int kMostPixels = 10'000;  // on each side
constexpr int kWidth = 720, kHeight = 400;
constexpr int kPanelWidth = 400, kPanelHeight = 300;  // in figures of several
constexpr int kTextWidth = 100, kTextHeight = 15, kPanelTextHeight = 10;

bool use_color() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR") &&
         (!terminal || std::string_view(terminal) != "dumb");
}

int size_argument(const Value& v, std::string_view name, int otherwise, int least) {
  if (v.is_none()) return otherwise;
  const std::int64_t size = int_argument(v, name);
  if (size < least || size > kMostPixels)
    raise("ValueError", fmt::format("`{}` must be from {} to {}, is {}", name, least, kMostPixels, size));
  return static_cast<int>(size);
}

void write_figure(const std::string& path, const plot::Drawing& drawing) {
  files::AtomicFile file(path);
  const auto pixels = [&] {
    return plot::pixels_tensor(drawing.width, drawing.height, plot::raster().pixels(drawing));
  };
  if (path.ends_with(".svg")) {
    file.text(plot::drawing_svg(drawing));
  } else if (path.ends_with(".png")) {
    files::write_png(file, pixels());
  } else if (path.ends_with(".ppm")) {
    files::write_ppm(file, pixels());
  } else {
    raise("ValueError", fmt::format("the format of '{}' is not known", path), "known are .svg .png .ppm");
  }
  file.commit();
}

// A picture alone has no axes beside it.
int least_columns(const plot::Figure& figure) {
  const std::vector<plot::Layer>& layers = figure.panels.front().layers;
  return layers.size() == 1 && std::holds_alternative<plot::Picture>(layers.front()) ? 1 : 20;
}

std::string figure_as_text(const plot::Figure& figure, const Output& output, bool color) {
  const int columns = size_argument(output.width, "width", std::min(print_options().width, kTextWidth),
                                    least_columns(figure));
  const int rows =
      size_argument(output.height, "height", figure.panels.size() > 1 ? kPanelTextHeight : kTextHeight, 3);
  return plot::figure_text(figure, columns, rows, color);
}

// Columns and rows of a terminal are as wide and high as its letters.
plot::Drawing drawing_in_cells(const plot::Figure& figure, const Output& output,
                               const TerminalPictures& terminal) {
  const auto pixels = [](const Value& v, std::string_view name, int each, int otherwise, int least) {
    return v.is_none() ? otherwise : std::clamp(size_argument(v, name, 0, least) * each, 120, kMostPixels);
  };
  const int most = std::max(terminal.columns * terminal.cell_width, 120);
  const int width = pixels(output.width, "width", terminal.cell_width, std::min(default_width(figure), most),
                           least_columns(figure));
  const int height = pixels(output.height, "height", terminal.cell_height, default_height(figure), 3);
  return plot::laid_out(figure, width, height);
}

std::string png_of(const plot::Drawing& drawing) {
  return plot::png_bytes(drawing.width, drawing.height, plot::raster().pixels(drawing));
}

}  // namespace

int default_width(const plot::Figure& figure) {
  return std::clamp(kPanelWidth * figure.columns, kWidth, kMostPixels);
}
int default_height(const plot::Figure& figure) {
  return std::clamp(kPanelHeight * figure.rows, kHeight, kMostPixels);
}

std::string figure_png(const plot::Figure& figure) {
  return png_of(plot::laid_out(figure, default_width(figure), default_height(figure)));
}

void show_figure(Interpreter& interpreter, const plot::Figure& figure, const Output& output) {
  if (!output.file.is_none()) {
    const std::string& path = path_argument(output.file, "file");
    const int width = size_argument(output.width, "width", default_width(figure), 120);
    const int height = size_argument(output.height, "height", default_height(figure), 100);
    write_figure(path, plot::laid_out(figure, width, height));
    return;
  }
  if (const auto& show = interpreter.options().frontend.show_picture) {
    const TerminalPictures page{.columns = kTextWidth};
    std::string text = figure_as_text(figure, output, false);
    return show(png_of(drawing_in_cells(figure, output, page)), std::move(text));
  }
  const auto terminal = terminal_pictures();
  interpreter.write(terminal ? picture_escape(*terminal, drawing_in_cells(figure, output, *terminal))
                             : figure_as_text(figure, output, use_color()));
}

}  // namespace kiln::interp::host
