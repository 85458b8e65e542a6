// Charts and pictures as SVG.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "interpreter/plot/chart.h"
#include "tensor/host_view.h"

namespace kiln::interp::plot {
namespace {

constexpr int kLeft = 60, kRight = 20, kTop = 36, kBottom = 36;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string css(Color c) { return fmt::format("rgb({},{},{})", c.red, c.green, c.blue); }

class SvgChart {
 public:
  SvgChart(const Chart& chart, int width, int height)
      : chart_(chart), width_(width), height_(height), xs_(x_extent(chart)), ys_(y_extent(chart)) {}

  std::string run() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        width_, height_);
    grid();
    if (chart_.bars) bars();
    for (std::size_t i = 0; !chart_.bars && i < chart_.series.size(); ++i) line(chart_.series[i], i);
    if (!chart_.title.empty()) text(width_ / 2.0, 20, "middle", chart_.title, 14);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  double px(double v) const { return kLeft + xs_.share(v) * (width_ - kLeft - kRight); }
  double py(double v) const { return height_ - kBottom - ys_.share(v) * (height_ - kTop - kBottom); }

  void text(double x, double y, std::string_view anchor, const std::string& s, int size = 12) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x,
                        y, anchor, size, escaped(s));
  }

  void rule(double x0, double y0, double x1, double y1, std::string_view color) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0,
                        y0, x1, y1, color);
  }

  void grid() {
    for (const double v : ticks(xs_, 8)) {
      rule(px(v), kTop, px(v), height_ - kBottom, "#e5e5e5");
      text(px(v), height_ - kBottom + 16, "middle", tick_text(v));
    }
    for (const double v : ticks(ys_, 6)) {
      rule(kLeft, py(v), width_ - kRight, py(v), "#e5e5e5");
      text(kLeft - 6, py(v) + 4, "end", tick_text(v));
    }
    rule(kLeft, height_ - kBottom, width_ - kRight, height_ - kBottom, "black");
    rule(kLeft, kTop, kLeft, height_ - kBottom, "black");
  }

  // A value that is not finite ends one line; the next starts another.
  void line(const Series& series, std::size_t index) {
    std::string points;
    const auto end = [&] {
      if (!points.empty()) {
        out_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
                            css(series_color(index)), points);
      }
      points.clear();
    };
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
        end();
      } else {
        points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", px(series.x[i]), py(series.y[i]));
      }
    }
    end();
  }

  void bars() {
    const auto& counts = chart_.series.front().y;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double left = px(chart_.edges[i]);
      out_ += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
          "stroke=\"white\"/>\n",
          left, py(counts[i]), px(chart_.edges[i + 1]) - left, py(0) - py(counts[i]), css(series_color(0)));
    }
  }

  void legend() {
    double y = kTop + 14;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].label.empty()) continue;
      out_ += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"14\" height=\"3\" fill=\"{}\"/>\n",
                          width_ - kRight - 20, y - 5, css(series_color(i)));
      text(width_ - kRight - 26, y, "end", chart_.series[i].label);
      y += 16;
    }
  }

  const Chart& chart_;
  int width_, height_;
  Extent xs_, ys_;
  std::string out_;
};

}  // namespace

std::string draw_svg(const Chart& chart, int width, int height) {
  return SvgChart(chart, width, height).run();
}

std::string picture_svg(const kiln::Tensor& image) {
  const std::int64_t rows = image.size(0);
  const std::int64_t columns = image.size(1);
  const std::int64_t channels = image.size(2);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
      "shape-rendering=\"crispEdges\">\n",
      columns * 8, rows * 8, columns, rows);
  const kiln::HostView elements(image);
  const auto* p = elements.as<std::uint8_t>();
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x, p += channels) {
      const Color c = channels == 1 ? Color{p[0], p[0], p[0]} : Color{p[0], p[1], p[2]};
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" fill=\"{}\"/>\n", x, y, css(c));
    }
  }
  return out + "</svg>\n";
}

}  // namespace kiln::interp::plot
