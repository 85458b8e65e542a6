// plot, hist and imshow: in the terminal, or to a file.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/files/formats.h"
#include "interpreter/files/picture.h"
#include "interpreter/plot/chart.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"
#include "tensor/host_view.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

bool use_color() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR") &&
         (!terminal || std::string_view(terminal) != "dumb");
}

std::vector<double> numbers_of(const kiln::Tensor& tensor) {
  const kiln::Tensor x = kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(tensor), kiln::DType::F64));
  const kiln::HostView elements(x);
  return {elements.as<double>(), elements.as<double>() + x.numel()};
}

kiln::Tensor tensor_like(Interpreter& interpreter, const Value& v) {
  if (v.is(Tag::Tensor)) return v.as_tensor();
  if (items_of(v) || v.is(Tag::Range)) return tensor_from(interpreter, v, kiln::DType::F64);
  wrong_type("ys", "a tensor or a list of numbers", v);
}

std::vector<double> counting(std::size_t n) {
  std::vector<double> xs(n);
  for (std::size_t i = 0; i < n; ++i) xs[i] = static_cast<double>(i);
  return xs;
}

int size_argument(const Value& v, std::string_view name, int otherwise, int least) {
  if (v.is_none()) return otherwise;
  const std::int64_t size = int_argument(v, name);
  if (size < least || size > 10'000)
    raise("ValueError", fmt::format("`{}` must be from {} to 10000, is {}", name, least, size));
  return static_cast<int>(size);
}

// Writes a chart to .svg, .png or .ppm.
template <class Svg, class Pixels>
void write_figure(const std::string& path, const Svg& svg, const Pixels& pixels) {
  files::AtomicFile file(path);
  if (path.ends_with(".svg")) {
    file.text(svg());
  } else if (path.ends_with(".png")) {
    files::write_png(file, pixels());
  } else if (path.ends_with(".ppm")) {
    files::write_ppm(file, pixels());
  } else {
    raise("ValueError", fmt::format("the format of '{}' is not known", path), "known are .svg .png .ppm");
  }
  file.commit();
}

void show(Interpreter& interpreter, const plot::Chart& chart, const Value& width, const Value& height,
          const Value& file) {
  if (file.is_none()) {
    const int columns = size_argument(width, "width", std::min(print_options().width, 100), 20);
    interpreter.write(
        chart.bars ? plot::draw_bars(chart, columns)
                   : plot::draw_text(chart, columns, size_argument(height, "height", 15, 3), use_color()));
    return;
  }
  const int w = size_argument(width, "width", 720, 120);
  const int h = size_argument(height, "height", 400, 100);
  write_figure(
      path_argument(file, "file"), [&] { return plot::draw_svg(chart, w, h); },
      [&] { return plot::draw_pixels(chart, w, h); });
}

void add_series(Interpreter& interpreter, plot::Chart& chart, const Value& ys, const Value& xs) {
  const kiln::Tensor y = tensor_like(interpreter, ys);
  if (y.rank() > 2 || y.rank() == 0)
    raise("ShapeError",
          fmt::format("plot: lines have one dimension, or two for several; got {}", describe(ys)));
  const auto length = static_cast<std::size_t>(y.size(y.rank() - 1));
  const std::vector<double> x = xs.is_none() ? counting(length) : numbers_of(tensor_like(interpreter, xs));
  if (x.size() != length)
    raise("ShapeError", fmt::format("plot: `x` has {} numbers, a line {}", x.size(), length));
  const std::vector<double> all = numbers_of(y);
  for (std::size_t at = 0; at + length <= all.size() && length > 0; at += length) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    chart.series.push_back({"", x, std::vector<double>(first, first + static_cast<std::ptrdiff_t>(length))});
  }
}

Value draw_plot(Interpreter& interpreter, Args a) {
  plot::Chart chart;
  chart.title = text_argument(a[3], "title");
  for (const Value& ys : a[0].as<Tuple>().items) add_series(interpreter, chart, ys, a[1]);
  if (chart.series.empty()) raise("ValueError", "plot: there is nothing to draw");
  if (!a[2].is_none()) {
    const std::vector<Value> labels =
        a[2].is(Tag::Str) ? std::vector<Value>{a[2]} : interpreter.to_vector(a[2]);
    for (std::size_t i = 0; i < std::min(labels.size(), chart.series.size()); ++i) {
      chart.series[i].label = str_of(interpreter, labels[i]);
    }
  }
  show(interpreter, chart, a[4], a[5], a[6]);
  return {};
}

Value draw_hist(Interpreter& interpreter, Args a) {
  std::vector<double> values = numbers_of(tensor_like(interpreter, a[0]));
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) raise("ValueError", "hist: there is no finite number");
  const auto bins = static_cast<std::size_t>(size_argument(a[1], "bins", 10, 1));
  plot::Chart chart;
  chart.bars = true;
  chart.title = text_argument(a[2], "title");
  const plot::Extent extent = plot::x_extent({"", {{"", values, values}}, false, {}});
  for (std::size_t i = 0; i <= bins; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(bins);
    chart.edges.push_back(extent.low * (1 - t) + extent.high * t);
  }
  plot::Series counts{"", std::vector<double>(bins), std::vector<double>(bins)};
  for (const double v : values) {
    const double place = extent.share(v) * static_cast<double>(bins);
    counts.y[std::min(static_cast<std::size_t>(std::max(place, 0.0)), bins - 1)] += 1;
  }
  for (std::size_t i = 0; i < bins; ++i) counts.x[i] = chart.edges[i];
  chart.series.push_back(std::move(counts));
  show(interpreter, chart, a[3], a[4], a[5]);
  return {};
}

// A matrix is stretched from its least to its greatest element; a picture with channels is taken as it is.
kiln::Tensor stretched(const kiln::Tensor& tensor, const Value& vmin, const Value& vmax) {
  if (tensor.rank() != 2) return files::as_shown(tensor);
  const kiln::Tensor x = kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(tensor), kiln::DType::F64));
  const plot::Extent found = plot::x_extent({"", {{"", numbers_of(x), numbers_of(x)}}, false, {}});
  const double low = vmin.is_none() ? found.low : float_argument(vmin, "vmin");
  const double high = vmax.is_none() ? found.high : float_argument(vmax, "vmax");
  const kiln::Tensor scaled = kiln::Tensor::empty(x.sizes(), kiln::DType::F64);
  const auto share = [&](double v) { return high > low ? (v - low) / (high - low) : 0; };
  {
    const kiln::HostView in(x);
    const kiln::WritableHostView out(scaled);
    std::transform(in.as<double>(), in.as<double>() + x.numel(), out.as<double>(), share);
  }
  return files::as_shown(scaled);
}

Value draw_image(Interpreter& interpreter, Args a) {
  const kiln::Tensor image = stretched(tensor_argument(a[0], "x"), a[1], a[2]);
  if (a[4].is_none()) {
    interpreter.write(
        plot::picture_text(image, size_argument(a[3], "width", print_options().width, 1), use_color()));
    return {};
  }
  write_figure(
      path_argument(a[4], "file"),
      [&] {
        if (image.numel() > (1 << 18))
          raise("ValueError", "imshow: the picture is too large for .svg", "use .png");
        return plot::picture_svg(image);
      },
      [&] { return image; });
  return {};
}

constexpr NativeDef kNatives[] = {
    {"plot(*ys, x=none, labels=none, title=\"\", width=none, height=none, file=none)",
     "Draws lines: each argument a list or tensor of numbers, or a matrix of one line a row. In the "
     "terminal, or to `file` "
     "(.svg .png .ppm).",
     draw_plot},
    {"hist(x, bins=none, title=\"\", width=none, height=none, file=none)",
     "Draws how often numbers fall in each of `bins` (10) equal ranges.", draw_hist},
    {"imshow(x, vmin=none, vmax=none, width=none, file=none)",
     "Draws a matrix in shades from its least to its greatest element, or a picture with 1, 3 or 4 channels.",
     draw_image},
};

}  // namespace

std::span<const NativeDef> plot_natives() { return kNatives; }

}  // namespace kiln::interp
