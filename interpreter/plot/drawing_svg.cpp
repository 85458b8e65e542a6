// Drawings as SVG.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "interpreter/plot/drawing.h"
#include "interpreter/plot/png_data.h"

namespace kiln::interp::plot {
namespace {

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

std::string css(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

// Two decimals at most.
std::string number_text(double v) {
  std::string text = fmt::format("{:.2f}", v);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string points_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& p : points) {
    if (!text.empty()) text += ' ';
    text += number_text(p.x) + "," + number_text(p.y);
  }
  return text;
}

std::string box_text(const Box& box) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number_text(box.left),
                     number_text(box.top), number_text(box.width()), number_text(box.height()));
}

std::string opacity_text(double opacity) {
  return opacity == 1 ? "" : fmt::format(" fill-opacity=\"{}\"", number_text(opacity));
}

class SvgWriter {
 public:
  explicit SvgWriter(const Drawing& drawing) {
    out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"DejaVu Sans, Bitstream Vera Sans, Verdana, sans-serif\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        drawing.width, drawing.height);
    for (const Shape& shape : drawing.shapes) std::visit(*this, shape);
    out += "</svg>\n";
  }

  void operator()(const Stroke& stroke) {
    if (stroke.points.size() == 2) {
      const Point a = stroke.points[0];
      const Point b = stroke.points[1];
      out += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>\n",
                         number_text(a.x), number_text(a.y), number_text(b.x), number_text(b.y),
                         css(stroke.color), width_text(stroke));
      return;
    }
    out += fmt::format(
        "<polyline fill=\"none\" stroke=\"{}\"{} stroke-linejoin=\"round\" stroke-linecap=\"round\" "
        "points=\"{}\"/>\n",
        css(stroke.color), width_text(stroke), points_text(stroke.points));
  }
  void operator()(const Fill& fill) {
    out += fmt::format("<polygon fill=\"{}\"{} points=\"{}\"/>\n", css(fill.color),
                       opacity_text(fill.opacity), points_text(fill.points));
  }
  void operator()(const Block& block) {
    out += fmt::format("<rect {} fill=\"{}\"{}/>\n", box_text(block.box), css(block.color),
                       opacity_text(block.opacity));
  }
  void operator()(const Dots& dots) {
    const bool alike = dots.colors.size() == 1;
    out += fmt::format("<g{}{}>\n", alike ? " fill=\"" + css(dots.colors[0]) + "\"" : "",
                       opacity_text(dots.opacity));
    for (std::size_t i = 0; i < dots.centers.size(); ++i) {
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n", number_text(dots.centers[i].x),
                         number_text(dots.centers[i].y), number_text(dots.radius),
                         alike ? "" : " fill=\"" + css(dots.colors[i]) + "\"");
    }
    out += "</g>\n";
  }
  void operator()(const Words& words) {
    static constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    const std::string x = number_text(words.at.x);
    const std::string y = number_text(words.at.y);
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\"{}>{}</text>\n", x, y,
        kAnchors[static_cast<int>(words.anchor)], number_text(words.size), css(words.color),
        words.upright ? fmt::format(" transform=\"rotate(-90 {} {})\"", x, y) : "", escaped(words.text));
  }
  void operator()(const Image& image) {
    out += fmt::format(
        "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{}\"/>\n",
        box_text(image.box), base64(png_bytes(image.width, image.height, image.rgb)));
  }
  void operator()(const Clip& clip) {
    if (!clip.box) {
      out += "</g>\n";
      return;
    }
    ++clips_;
    out += fmt::format("<clipPath id=\"panel{0}\"><rect {1}/></clipPath>\n<g clip-path=\"url(#panel{0})\">\n",
                       clips_, box_text(*clip.box));
  }

  std::string out;

 private:
  static std::string width_text(const Stroke& stroke) {
    return stroke.width == 1 ? "" : fmt::format(" stroke-width=\"{}\"", number_text(stroke.width));
  }
  int clips_ = 0;
};

}  // namespace

std::string drawing_svg(const Drawing& drawing) { return SvgWriter(drawing).out; }

}  // namespace kiln::interp::plot
