#include "interpreter/plot/raster/cairo_pixels.h"

#include <cairo-ft.h>
#include <cairo.h>
#include <ft2build.h>

#include <cstring>
#include <memory>
#include <new>

#include FT_FREETYPE_H

#include "interpreter/plot/raster/font_data.h"

namespace kiln::interp::plot {
namespace {

constexpr double kTurn = 6.283185307179586;

// DejaVu Sans, made once and kept as long as the process.
cairo_font_face_t* font() {
  static cairo_font_face_t* const made = [] {
    FT_Library library = nullptr;
    FT_Face face = nullptr;
    const auto bytes = font_data();
    if (FT_Init_FreeType(&library) != 0 ||
        FT_New_Memory_Face(library, bytes.data(), static_cast<FT_Long>(bytes.size()), 0, &face) != 0)
      throw std::bad_alloc();  // the font is part of the library: there is nothing else that can fail
    return cairo_ft_font_face_create_for_ft_face(face, FT_LOAD_NO_HINTING);
  }();
  return made;
}

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;

// Four bytes a pixel, as Cairo has them.
Surface surface_of(const Image& image) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, image.width, image.height));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
  auto* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  const std::uint8_t* in = image.rgb.data();
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(image.width); ++x, in += 3) {
      const std::uint32_t pixel = std::uint32_t{in[0]} << 16U | std::uint32_t{in[1]} << 8U | in[2];
      std::memcpy(data + y * stride + x * 4, &pixel, 4);
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

class CairoPainter {
 public:
  explicit CairoPainter(cairo_surface_t* surface) : cairo_(cairo_create(surface)) {
    cairo_set_line_join(cr(), CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cr(), CAIRO_LINE_CAP_ROUND);
    cairo_set_font_face(cr(), font());
    cairo_set_source_rgb(cr(), 1, 1, 1);
    cairo_paint(cr());
  }

  void operator()(const Stroke& stroke) {
    use(stroke.color, 1);
    // Lines between two points have plain ends, as those of axes.
    cairo_set_line_cap(cr(), stroke.points.size() == 2 ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    path(stroke.points);
    cairo_set_line_width(cr(), stroke.width);
    cairo_stroke(cr());
  }
  void operator()(const Fill& fill) {
    use(fill.color, fill.opacity);
    path(fill.points);
    cairo_fill(cr());
  }
  void operator()(const Block& block) {
    use(block.color, block.opacity);
    rectangle(block.box);
    cairo_fill(cr());
  }
  void operator()(const Dots& dots) {
    for (std::size_t i = 0; i < dots.centers.size(); ++i) {
      use(dots.color(i), dots.opacity);
      cairo_new_path(cr());
      cairo_arc(cr(), dots.centers[i].x, dots.centers[i].y, dots.radius, 0, kTurn);
      cairo_fill(cr());
    }
  }
  void operator()(const Words& words) {
    use(words.color, 1);
    cairo_set_font_size(cr(), words.size);
    cairo_text_extents_t extents;
    cairo_text_extents(cr(), words.text.c_str(), &extents);
    cairo_save(cr());
    cairo_translate(cr(), words.at.x, words.at.y);
    if (words.upright) cairo_rotate(cr(), -kTurn / 4);
    const double share = words.anchor == Anchor::Start ? 0 : words.anchor == Anchor::Middle ? 0.5 : 1;
    cairo_move_to(cr(), -extents.x_advance * share, 0);
    cairo_show_text(cr(), words.text.c_str());
    cairo_restore(cr());
  }
  void operator()(const Image& image) {
    const Surface pixels = surface_of(image);
    cairo_save(cr());
    rectangle(image.box);
    cairo_clip(cr());
    cairo_translate(cr(), image.box.left, image.box.top);
    cairo_scale(cr(), image.box.width() / image.width, image.box.height() / image.height);
    cairo_set_source_surface(cr(), pixels.get(), 0, 0);
    // Where there are more pixels than room, each shows the mean of those below it.
    const bool smaller = image.box.width() < image.width || image.box.height() < image.height;
    cairo_pattern_set_filter(cairo_get_source(cr()), smaller ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(cr()), CAIRO_EXTEND_PAD);
    cairo_paint(cr());
    cairo_restore(cr());
  }
  void operator()(const Clip& clip) {
    cairo_reset_clip(cr());
    if (!clip.box) return;
    rectangle(*clip.box);
    cairo_clip(cr());
  }

 private:
  cairo_t* cr() const { return cairo_.get(); }
  void use(Color c, double opacity) {
    cairo_set_source_rgba(cr(), c.red / 255.0, c.green / 255.0, c.blue / 255.0, opacity);
  }
  void rectangle(const Box& box) { cairo_rectangle(cr(), box.left, box.top, box.width(), box.height()); }
  void path(const std::vector<Point>& points) {
    cairo_new_path(cr());
    for (const Point& p : points) cairo_line_to(cr(), p.x, p.y);
  }
  std::unique_ptr<cairo_t, Destroy> cairo_;
};

}  // namespace

std::vector<std::uint8_t> cairo_pixels(const Drawing& drawing) {
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, drawing.width, drawing.height));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) throw std::bad_alloc();
  CairoPainter painter(surface.get());
  for (const Shape& shape : drawing.shapes) std::visit(painter, shape);
  cairo_surface_flush(surface.get());
  const auto* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  std::vector<std::uint8_t> rgb;
  rgb.reserve(static_cast<std::size_t>(drawing.width) * static_cast<std::size_t>(drawing.height) * 3);
  for (std::size_t y = 0; y < static_cast<std::size_t>(drawing.height); ++y) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(drawing.width); ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, data + y * stride + x * 4, 4);
      for (const unsigned shift : {16U, 8U, 0U}) rgb.push_back(static_cast<std::uint8_t>(pixel >> shift));
    }
  }
  return rgb;
}

}  // namespace kiln::interp::plot
