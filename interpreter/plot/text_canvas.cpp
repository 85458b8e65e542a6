#include "interpreter/plot/text_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "interpreter/plot/clip.h"
#include "interpreter/values/utf8.h"

namespace kiln::interp::plot {
namespace {

constexpr std::string_view kShades = " .:-=+*#%@";

int rounded(double v) { return static_cast<int>(std::lround(std::clamp(v, -1e6, 1e6))); }

}  // namespace

std::string foreground(Color c) { return fmt::format("\x1b[38;2;{};{};{}m", c.red, c.green, c.blue); }
std::string background(Color c) { return fmt::format("\x1b[48;2;{};{};{}m", c.red, c.green, c.blue); }
char shade(Color color) { return kShades[static_cast<std::size_t>(luminance(color)) * kShades.size() / 256]; }

TextCanvas::TextCanvas(int columns, int rows)
    : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {}

void TextCanvas::draw(const Shapes& shapes) {
  for (const Shape& shape : shapes) std::visit(*this, shape);
}

TextCanvas::Cell* TextCanvas::cell(int column, int row) {
  if (column < 0 || row < 0 || column >= columns_ || row >= rows_) return nullptr;
  return &cells_[static_cast<std::size_t>(row * columns_ + column)];
}

void TextCanvas::dot(int x, int y, Color color) {
  static constexpr std::array<std::array<unsigned, 2>, 4> kBits{
      {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  if (x < 0 || y < 0) return;
  Cell* const at = cell(x / 2, y / 4);
  if (at == nullptr) return;
  at->dots |= kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
  at->color = color;
}

void TextCanvas::line(Point a, Point b, Color color) {
  // Of a line that goes far beyond, the part on the canvas.
  const auto part = clipped_line(a, b, {-1, -1, static_cast<double>(width()), static_cast<double>(height())});
  if (!part) return;
  std::tie(a, b) = *part;
  const int x0 = rounded(a.x);
  const int y0 = rounded(a.y);
  const int x1 = rounded(b.x);
  const int y1 = rounded(b.y);
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    dot(rounded(x0 + t * (x1 - x0)), rounded(y0 + t * (y1 - y0)), color);
  }
}

void TextCanvas::operator()(const Stroke& stroke) {
  for (std::size_t i = 0; i < stroke.points.size(); ++i)
    line(stroke.points[i == 0 ? 0 : i - 1], stroke.points[i], stroke.color);
}

void TextCanvas::operator()(const Fill& fill) {
  // Every second dot of what is between the edges at each height, so that lines over it are seen.
  for (int x = 0; x < width(); ++x) {
    std::vector<double> crossings;
    for (std::size_t i = 0; i < fill.points.size(); ++i) {
      const Point a = fill.points[i];
      const Point b = fill.points[(i + 1) % fill.points.size()];
      if ((a.x <= x) == (b.x <= x)) continue;
      crossings.push_back(a.y + (x - a.x) / (b.x - a.x) * (b.y - a.y));
    }
    std::sort(crossings.begin(), crossings.end());
    for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
      const int last = std::min(rounded(crossings[i + 1]), height() - 1);
      for (int y = std::max(rounded(crossings[i]), 0); y <= last; ++y) {
        if ((x + y) % 2 == 0) dot(x, y, fill.color);
      }
    }
  }
}

void TextCanvas::operator()(const Block& block) {
  const int right = std::min(rounded(block.box.right), width() - 1);
  const int bottom = std::min(rounded(block.box.bottom), height() - 1);
  for (int y = std::max(rounded(block.box.top), 0); y <= bottom; ++y) {
    for (int x = std::max(rounded(block.box.left), 0); x <= right; ++x) dot(x, y, block.color);
  }
}

void TextCanvas::operator()(const Dots& dots) {
  for (std::size_t i = 0; i < dots.centers.size(); ++i)
    dot(rounded(dots.centers[i].x), rounded(dots.centers[i].y), dots.color(i));
}

void TextCanvas::operator()(const Words& words) {
  const int length = static_cast<int>(code_point_count(words.text));
  const int row = rounded(words.at.y) / 4;
  int column = rounded(words.at.x) / 2 - (words.anchor == Anchor::Start    ? 0
                                          : words.anchor == Anchor::Middle ? length / 2
                                                                           : length);
  for (std::size_t i = 0; i < words.text.size(); i += code_point_bytes(words.text, i)) {
    const char32_t letter = code_point_at(words.text, i);
    Cell* const at = cell(column++, row);
    if (at == nullptr) continue;
    at->letter = letter;
    at->color = words.color;
  }
}

Color TextCanvas::mean(const Image& image, const Box& shares) {
  const auto place = [](double share, int size) {
    return std::clamp(static_cast<int>(share * size), 0, size - 1);
  };
  const int x0 = place(shares.left, image.width);
  const int y0 = place(shares.top, image.height);
  const int x1 = std::max(x0 + 1, static_cast<int>(std::min(shares.right, 1.0) * image.width));
  const int y1 = std::max(y0 + 1, static_cast<int>(std::min(shares.bottom, 1.0) * image.height));
  std::array<std::int64_t, 3> sums{};
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      for (std::size_t c = 0; c < 3; ++c)
        sums[c] += image.rgb[static_cast<std::size_t>(y * image.width + x) * 3 + c];
    }
  }
  const std::int64_t count = std::int64_t{y1 - y0} * (x1 - x0);
  const auto level = [&](std::size_t c) { return static_cast<std::uint8_t>(sums[c] / count); };
  return {level(0), level(1), level(2)};
}

void TextCanvas::operator()(const Image& image) {
  // Each half of a cell whose middle is in the box shows the mean of what it covers.
  const auto share_x = [&](double x) { return (x - image.box.left) / image.box.width(); };
  const auto share_y = [&](double y) { return (y - image.box.top) / image.box.height(); };
  const auto inside = [](double share) { return share >= 0 && share < 1; };
  for (int row = 0; row < rows_ * 2; ++row) {
    const double y = row * 2;
    if (!inside(share_y(y + 1))) continue;
    for (int column = 0; column < columns_; ++column) {
      const double x = column * 2;
      if (!inside(share_x(x + 1))) continue;
      Cell& at = *cell(column, row / 2);
      const Color color = mean(image, {share_x(x), share_y(y), share_x(x + 2), share_y(y + 2)});
      if (!at.has_picture) at.top = at.bottom = color;
      (row % 2 == 0 ? at.top : at.bottom) = color;
      at.has_picture = true;
    }
  }
}

std::string TextCanvas::row(int r, bool color) const {
  std::string text;
  for (int c = 0; c < columns_; ++c) {
    const Cell& at = cells_[static_cast<std::size_t>(r * columns_ + c)];
    const bool has_mark = at.dots != 0 || at.letter != 0;
    const char32_t mark = at.letter != 0 ? at.letter : char32_t{0x2800} + at.dots;
    if (!has_mark && !at.has_picture) {
      text += ' ';
    } else if (!color) {
      if (has_mark) append_code_point(text, mark);
      if (!has_mark) text += shade(at.top);
    } else {
      text += foreground(has_mark ? at.color : at.top);
      if (at.has_picture) text += background(at.bottom);
      append_code_point(text, has_mark ? mark : U'▀');
      text += kPlain;
    }
  }
  return text;
}

}  // namespace kiln::interp::plot
