// Owns a grid of cells of a terminal on which shapes are drawn: lines as braille dots, pictures as halves of
// cells.
#pragma once

#include <string>
#include <vector>

#include "interpreter/plot/drawing.h"

namespace kiln::interp::plot {

// An escape sequence for what follows, and its end.
std::string foreground(Color color);
std::string background(Color color);
inline constexpr std::string_view kPlain = "\x1b[0m";
// A character that is the darker the less bright, for terminals without colour.
char shade(Color color);

// Its pixels are dots: 2 x 4 in each cell.
class TextCanvas {
 public:
  TextCanvas(int columns, int rows);
  int width() const { return columns_ * 2; }
  int height() const { return rows_ * 4; }

  // Opacity and widths of lines are those of dots.
  void draw(const Shapes& shapes);
  // A row of cells; with `color` by escape sequences, else of characters alone. All columns, blanks included.
  std::string row(int r, bool color) const;

  void operator()(const Stroke& stroke);
  void operator()(const Fill& fill);
  void operator()(const Block& block);
  void operator()(const Dots& dots);
  void operator()(const Words& words);
  void operator()(const Image& image);
  void operator()(const Clip&) {}  // the canvas has the size of a panel, and all else is cut

 private:
  struct Cell {
    unsigned dots = 0;
    char32_t letter = 0;
    bool has_picture = false;
    Color color, top, bottom;
  };
  Cell* cell(int column, int row);
  void dot(int x, int y, Color color);
  void line(Point a, Point b, Color color);
  // The mean of the pixels between two shares of the picture in each direction.
  static Color mean(const Image& image, const Box& shares);

  int columns_, rows_;
  std::vector<Cell> cells_;
};

}  // namespace kiln::interp::plot
