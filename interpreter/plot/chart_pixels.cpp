// Charts as pixels, with a tiny font for the numbers of the axes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "interpreter/plot/chart.h"
#include "tensor/host_view.h"

namespace kiln::interp::plot {
namespace {

constexpr int kLeft = 60, kRight = 20, kTop = 20, kBottom = 30;
constexpr Color kBlack{0, 0, 0};
constexpr Color kGrey{229, 229, 229};

// 3 x 5 dots a character, a row in three bits from the top.
struct Glyph {
  char c;
  std::array<std::uint8_t, 5> rows;
};
constexpr std::array<Glyph, 14> kFont{{{'0', {7, 5, 5, 5, 7}},
                                       {'1', {2, 6, 2, 2, 7}},
                                       {'2', {7, 1, 7, 4, 7}},
                                       {'3', {7, 1, 3, 1, 7}},
                                       {'4', {5, 5, 7, 1, 1}},
                                       {'5', {7, 4, 7, 1, 7}},
                                       {'6', {7, 4, 7, 5, 7}},
                                       {'7', {7, 1, 2, 2, 2}},
                                       {'8', {7, 5, 7, 5, 7}},
                                       {'9', {7, 5, 7, 1, 7}},
                                       {'-', {0, 0, 7, 0, 0}},
                                       {'+', {0, 2, 7, 2, 0}},
                                       {'.', {0, 0, 0, 0, 2}},
                                       {'e', {0, 7, 7, 4, 7}}}};
constexpr int kScale = 2;
constexpr int kAdvance = 4 * kScale;

class Pixels {
 public:
  // On an image of height x width x 3 bytes, which has the pixels when this ends.
  explicit Pixels(const kiln::Tensor& image)
      : width_(static_cast<int>(image.size(1))), height_(static_cast<int>(image.size(0))), view_(image) {
    std::memset(view_.bytes(), 255, view_.byte_count());
  }

  void set(int x, int y, Color c) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    auto* p = view_.as<std::uint8_t>() + (static_cast<std::ptrdiff_t>(y) * width_ + x) * 3;
    p[0] = c.red;
    p[1] = c.green;
    p[2] = c.blue;
  }
  void fill(int x0, int y0, int x1, int y1, Color c) {
    for (int y = std::max(y0, 0); y < std::min(y1, height_); ++y) {
      for (int x = std::max(x0, 0); x < std::min(x1, width_); ++x) set(x, y, c);
    }
  }
  void line(double x0, double y0, double x1, double y1, Color c) {
    const int steps = static_cast<int>(std::max({std::fabs(x1 - x0), std::fabs(y1 - y0), 1.0}));
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      const int x = static_cast<int>(std::lround(x0 + t * (x1 - x0)));
      const int y = static_cast<int>(std::lround(y0 + t * (y1 - y0)));
      fill(x, y, x + 2, y + 2, c);
    }
  }
  void text(int x, int y, std::string_view s) {
    for (const char c : s) {
      for (const Glyph& glyph : kFont) {
        if (glyph.c == c) draw(x, y, glyph);
      }
      x += kAdvance;
    }
  }

 private:
  void draw(int x, int y, const Glyph& glyph) {
    for (int r = 0; r < 5; ++r) {
      for (int b = 0; b < 3; ++b) {
        if ((glyph.rows[static_cast<std::size_t>(r)] >> (2 - b) & 1) == 0) continue;
        fill(x + b * kScale, y + r * kScale, x + (b + 1) * kScale, y + (r + 1) * kScale, kBlack);
      }
    }
  }
  int width_, height_;
  kiln::WritableHostView view_;
};

int text_width(std::string_view s) { return static_cast<int>(s.size()) * kAdvance; }

}  // namespace

kiln::Tensor draw_pixels(const Chart& chart, int width, int height) {
  const Extent xs = x_extent(chart);
  const Extent ys = y_extent(chart);
  const auto px = [&](double v) { return kLeft + xs.share(v) * (width - kLeft - kRight); };
  const auto py = [&](double v) { return height - kBottom - ys.share(v) * (height - kTop - kBottom); };
  kiln::Tensor image = kiln::Tensor::empty(std::array<kiln::Dim, 3>{height, width, 3}, kiln::DType::U8);
  Pixels pixels(image);
  for (const double v : ticks(xs, 8)) {
    const int x = static_cast<int>(px(v));
    pixels.fill(x, kTop, x + 1, height - kBottom, kGrey);
    pixels.text(x - text_width(tick_text(v)) / 2, height - kBottom + 8, tick_text(v));
  }
  for (const double v : ticks(ys, 6)) {
    const int y = static_cast<int>(py(v));
    pixels.fill(kLeft, y, width - kRight, y + 1, kGrey);
    pixels.text(kLeft - 6 - text_width(tick_text(v)), y - 5, tick_text(v));
  }
  pixels.fill(kLeft, height - kBottom, width - kRight, height - kBottom + 1, kBlack);
  pixels.fill(kLeft, kTop, kLeft + 1, height - kBottom, kBlack);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    for (std::size_t i = 0; chart.bars && i < series.y.size(); ++i) {
      pixels.fill(static_cast<int>(px(chart.edges[i])) + 1, static_cast<int>(py(series.y[i])),
                  static_cast<int>(px(chart.edges[i + 1])), height - kBottom, series_color(s));
    }
    for (std::size_t i = 1; !chart.bars && i < series.y.size(); ++i) {
      const std::array<double, 4> ends{series.x[i - 1], series.y[i - 1], series.x[i], series.y[i]};
      if (!std::all_of(ends.begin(), ends.end(), [](double v) { return std::isfinite(v); })) continue;
      pixels.line(px(ends[0]), py(ends[1]), px(ends[2]), py(ends[3]), series_color(s));
    }
  }
  return image;
}

}  // namespace kiln::interp::plot
