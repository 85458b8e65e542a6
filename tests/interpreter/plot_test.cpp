// Figures: where numbers stand, what is left out of long lines, and the same picture as SVG, pixels and text.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "interpreter/host/terminal_pictures.h"
#include "interpreter/plot/clip.h"
#include "interpreter/plot/contour.h"
#include "interpreter/plot/figure_text.h"
#include "interpreter/plot/layout.h"
#include "interpreter/plot/marks.h"
#include "interpreter/plot/png_data.h"
#include "interpreter/plot/raster.h"
#include "interpreter/plot/scale.h"
#include "interpreter/plot/sixel.h"

namespace kiln::interp::plot::plot_test {
namespace {

std::vector<std::string> tick_texts(const Extent& extent, bool is_log, int count) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks({}, {extent, is_log}, count)) {
    if (!tick.text.empty()) texts.push_back(tick.text);
  }
  return texts;
}

TEST_CASE("axes write round numbers, all alike") {
  using Texts = std::vector<std::string>;
  CHECK(tick_texts({0, 1}, false, 5) == Texts{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(tick_texts({-1.1, 1.1}, false, 4) == Texts{"-1.0", "-0.5", "0.0", "0.5", "1.0"});
  CHECK(tick_texts({0, 47}, false, 5) == Texts{"0", "10", "20", "30", "40"});
  CHECK(tick_texts({1e9, 1e9 + 4}, false, 4) ==
        Texts{"1000000000", "1000000001", "1000000002", "1000000003", "1000000004"});
  CHECK(tick_texts({0, 4e-9}, false, 2) == Texts{"0", "2e-09", "4e-09"});
  CHECK(tick_texts({-2, 2}, true, 4) == Texts{"0.01", "0.1", "1", "10", "100"});
  CHECK(tick_texts({0, 0.7}, true, 4) == Texts{"1", "2", "3", "4", "5"});
  Axis reversed;
  reversed.is_reversed = true;
  CHECK(ticks(reversed, {{0, 2}}, 2).front().text == "2");
  CHECK(tick_texts({0, 12}, true, 2) == Texts{"1", "1000", "1e+06", "1e+09", "1e+12"});
}

TEST_CASE("ranges are of finite numbers, and never empty") {
  Panel panel;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(reach_of(panel, 0.05).x.high > reach_of(panel, 0.05).x.low);
  panel.layers.emplace_back(Line{"", {}, {0, 1, 2, 3}, {5, nan, 5, INFINITY}});
  const Reach reach = reach_of(panel, 0);
  CHECK(reach.x.low == 0);
  CHECK(reach.x.high == 2);
  CHECK(reach.y.low == 2.5);
  CHECK(reach.y.high == 7.5);
  panel.y.low = 6;
  CHECK(reach_of(panel, 0).y.low == 6);
}

TEST_CASE("a long line looks as it does with all of its points") {
  std::vector<double> x(10'000);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i);
    y[i] = std::sin(x[i] * 0.002) + 0.3 * std::sin(x[i] * 1.7);
  }
  const double last = x.back();
  Panel panel;
  panel.layers.emplace_back(Line{"", {}, x, y});
  const Ruler rx{{0, last}, false, 0, 100};
  const Ruler ry{{-1.5, 1.5}, false, 80, 0};
  const Shapes shapes = marks_of(panel, rx, ry);
  REQUIRE(shapes.size() == 1);
  const auto& drawn = std::get<Stroke>(shapes.front()).points;
  CHECK(drawn.size() <= 8 * 101);
  Drawing thin{100, 80, shapes};
  Stroke all{{}, {}, std::get<Stroke>(shapes.front()).width};
  for (std::size_t i = 0; i < x.size(); ++i) all.points.push_back({rx(x[i]), ry(y[i])});
  const auto pixels = raster().pixels(thin);
  const auto wanted = raster().pixels({100, 80, {all}});
  int different = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) different += std::abs(pixels[i] - wanted[i]) > 64 ? 1 : 0;
  CHECK(different < static_cast<int>(pixels.size()) / 25);
}

TEST_CASE("points in one place are drawn once, the last on top") {
  Points points{"", {}, {}, {}, 3, 1};
  for (int i = 0; i < 10'000; ++i) {
    points.x.push_back(i % 2);
    points.y.push_back(0);
    points.colors.push_back({static_cast<std::uint8_t>(i == 9'999 ? 7 : 0), 0, 0});
  }
  Panel panel;
  panel.layers.emplace_back(points);
  const Shapes shapes = marks_of(panel, {{0, 1}, false, 0, 100}, {{0, 1}, false, 50, 0});
  const auto& dots = std::get<Dots>(shapes.front());
  REQUIRE(dots.centers.size() == 2);
  CHECK(dots.colors.back() == Color{7, 0, 0});
}

TEST_CASE("what is far beyond the panel is cut off") {
  Panel panel;
  panel.layers.emplace_back(Line{"", {}, {0, 1, 2}, {0, 1e12, 0}});
  panel.layers.emplace_back(Band{"", {}, {0, 1, 2}, {-1e12, -1, -1e12}, {1e12, 1, 1e12}});
  const Shapes shapes = marks_of(panel, {{0, 2}, false, 0, 100}, {{0, 1}, false, 50, 0});
  REQUIRE(shapes.size() == 3);  // up, down, the band
  for (const std::size_t i : {0, 1}) {
    for (const Point& p : std::get<Stroke>(shapes[i]).points) CHECK(std::fabs(p.y) <= 250.01);
  }
  for (const Point& p : std::get<Fill>(shapes[2]).points) CHECK(std::fabs(p.y) <= 250.01);
  CHECK_FALSE(clipped_line({0, 0}, {10, 10}, {20, 0, 30, 10}));
  CHECK(clipped_polygon({{-5, -5}, {5, -5}, {5, 5}, {-5, 5}}, {0, 0, 9, 9}).size() == 4);
}

TEST_CASE("contours of a cone are circles") {
  Field field{41, 41, {}, {}, {}};
  for (int i = -20; i <= 20; ++i) {
    field.x.push_back(i);
    field.y.push_back(i);
    for (int k = -20; k <= 20; ++k) field.heights.push_back(std::hypot(i, k));
  }
  const Contours contours = contours_of(field, {5, 10.5}, *find_color_map("viridis"));
  REQUIRE(contours.curves.size() == 2);
  for (const auto& [curve, radius] :
       {std::pair{contours.curves[0], 5.0}, std::pair{contours.curves[1], 10.5}}) {
    CHECK(curve.x.front() == curve.x.back());
    CHECK(curve.y.front() == curve.y.back());
    for (std::size_t i = 0; i < curve.x.size(); ++i)
      CHECK(std::hypot(curve.x[i], curve.y[i]) == Approx(radius).margin(0.1));
  }
}

TEST_CASE("a saddle is cut where its middle says, and holes have no curve") {
  const ColorMap& map = *find_color_map("gray");
  const Field saddle{2, 2, {0, 1, 1, 0}, {0, 1}, {0, 1}};
  // The middle is 0.5: above 0.4, so that the corners of 0 are cut off, and below 0.6, so that those of 1
  // are.
  for (const double level : {0.4, 0.6}) {
    const Contours contours = contours_of(saddle, {level}, map);
    REQUIRE(contours.curves.size() == 2);
    for (const auto& curve : contours.curves) {
      REQUIRE(curve.x.size() == 2);
      const double x = (curve.x[0] + curve.x[1]) / 2;
      const double y = (curve.y[0] + curve.y[1]) / 2;
      CHECK(((x < 0.5) == (y < 0.5)) == (level == 0.4));
    }
  }
  CHECK(contours_of({2, 2, {0, NAN, 1, 0}, {0, 1}, {0, 1}}, {0.5}, map).curves.empty());
}

Figure small_figure() {
  Figure figure;
  Panel& panel = figure.panels.front();
  panel.title = "a < b";
  panel.x.label = "step";
  panel.y.label = "loss";
  panel.y.is_log = true;
  panel.layers.emplace_back(Band{"", {0, 114, 178}, {0, 1, 2}, {0.5, 0.05, 0.005}, {2, 0.2, 0.02}});
  panel.layers.emplace_back(Line{"loss", {0, 114, 178}, {0, 1, 2}, {1, 0.1, 0.01}});
  panel.layers.emplace_back(Points{"best", {{230, 159, 0}}, {2}, {0.01}, 4, 1});
  return figure;
}

std::string text_of_file(const std::string& name) {
  std::ifstream file(std::string(KILN_TEST_DIR) + "/interpreter/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("a figure as SVG") {
  CHECK(drawing_svg(laid_out(small_figure(), 320, 240)) == text_of_file("figure.svg"));
}

// How many pixels between rows and columns are not white.
int ink(const std::vector<std::uint8_t>& rgb, int width, const Box& box) {
  int count = 0;
  for (int y = static_cast<int>(box.top); y < static_cast<int>(box.bottom); ++y) {
    for (int x = static_cast<int>(box.left); x < static_cast<int>(box.right); ++x)
      count += rgb[static_cast<std::size_t>(y * width + x) * 3] < 128 ? 1 : 0;
  }
  return count;
}

TEST_CASE("a figure as pixels has its title, names and legend") {
  const Drawing drawing = laid_out(small_figure(), 320, 240);
  const auto rgb = raster().pixels(drawing);
  REQUIRE(rgb.size() == 320 * 240 * 3);
  int words = 0;
  for (const Shape& shape : drawing.shapes) {
    const auto* const each = std::get_if<Words>(&shape);
    if (each == nullptr || each->anchor != Anchor::Middle || each->upright) continue;
    const double half = text_width(each->text, each->size) / 2;
    CHECK(ink(rgb, 320, {each->at.x - half, each->at.y - each->size, each->at.x + half, each->at.y + 1}) > 3);
    ++words;
  }
  CHECK(words == 7);  // the title, the name of x, five numbers
}

TEST_CASE("names of bars are all written, upwards where they are long") {
  for (const std::size_t length : {1, 30}) {
    Figure figure;
    Panel& panel = figure.panels.front();
    panel.layers.emplace_back(Bars{"", {}, {{-0.4, 0.4}, {0.6, 1.4}, {1.6, 2.4}}, {1, 2, 3}});
    for (int i = 0; i < 3; ++i) panel.x.names.emplace_back(i, std::string(length, 'n'));
    int names = 0;
    for (const Shape& shape : laid_out(figure, 320, 400).shapes) {
      const auto* const words = std::get_if<Words>(&shape);
      if (words == nullptr || words->text != std::string(length, 'n')) continue;
      CHECK(words->upright == (length == 30));
      CHECK(words->at.y + (words->upright ? text_width(words->text, words->size) : 0) < 400);
      ++names;
    }
    CHECK(names == 3);
  }
}

TEST_CASE("a picture is enlarged without being smoothed") {
  const Image image{{10, 20, 50, 60}, 2, 2, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7}};
  const auto rgb = raster().pixels({60, 70, {image}});
  const auto at = [&](std::size_t x, std::size_t y) {
    const std::size_t i = (y * 60 + x) * 3;
    return Color{rgb[i], rgb[i + 1], rgb[i + 2]};
  };
  CHECK(at(10, 20) == Color{255, 0, 0});
  CHECK(at(29, 39) == Color{255, 0, 0});
  CHECK(at(30, 20) == Color{0, 255, 0});
  CHECK(at(29, 40) == Color{0, 0, 255});
  CHECK(at(49, 59) == Color{9, 8, 7});
  CHECK(at(9, 20) == Color{255, 255, 255});
  CHECK(at(50, 59) == Color{255, 255, 255});
}

TEST_CASE("of a picture, what the limits of the axes show is drawn") {
  Panel panel;
  panel.layers.emplace_back(Picture{3, 1, {1, 1, 1, 2, 2, 2, 3, 3, 3}});
  const Ruler near{{0.9, 1.1}, false, 0, 1e4};
  const Shapes shapes = marks_of(panel, near, {{-0.5, 0.5}, false, 10, 0});
  const auto& image = std::get<Image>(shapes.front());
  CHECK(image.rgb == std::vector<std::uint8_t>{2, 2, 2});
  CHECK(image.box.left == near(0.5));
  CHECK(image.box.right == near(1.5));
  CHECK(marks_of(panel, {{7, 8}, false, 0, 1e4}, {{-0.5, 0.5}, false, 10, 0}).empty());
}

TEST_CASE("pictures and lines as coloured text") {
  const Picture picture{1, 2, {1, 2, 3, 4, 5, 6}};
  CHECK(picture_text(picture, 80, true) == "\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀\x1b[0m\n");
  Figure figure;
  figure.panels.front().layers.emplace_back(Points{"a", {{9, 8, 7}}, {0, 1}, {0, 1}, 3, 1});
  const std::string text = figure_text(figure, 20, 3, true);
  CHECK(text.find("\x1b[38;2;9;8;7m⠈\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[38;2;9;8;7m⡀\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[38;2;9;8;7m⠐⠂\x1b[0m a\n") != std::string::npos);
}

TEST_CASE("an animation repeats its frames") {
  const IndexedPicture frame{2, 3, {{1, 2, 3}, {4, 5, 6}}, {0, 1, 0, 1, 0, 1}};
  const std::string gif = raster().gif({frame, frame}, 20);
  CHECK(gif.starts_with(std::string("GIF89a\2\0\3\0", 10)));
  CHECK(gif.ends_with(';'));
  CHECK(gif.find("NETSCAPE2.0") != std::string::npos);
  const std::string control("\x21\xf9\4\4\x14\0", 6);  // 20 hundredths of a second
  const std::size_t first = gif.find(control);
  REQUIRE(first != std::string::npos);
  CHECK(gif.find(control, first + 1) != std::string::npos);
}

TEST_CASE("widths of text are those of the font that is drawn") {
  for (const char* text : {"0.25", "mean squared distance", "WAVE", "illicit (q)"}) {
    const Drawing drawing{400, 40, {Words{{20, 25}, text, 16, Anchor::Start, false, {0, 0, 0}}}};
    const auto rgb = raster().pixels(drawing);
    const double width = text_width(text, 16);
    CHECK(ink(rgb, 400, {20 + width + 1, 0, 400, 40}) == 0);
    CHECK(ink(rgb, 400, {20 + width - 6, 0, 20 + width + 1, 40}) > 0);
  }
}

TEST_CASE("few colours are kept as they are, many become 256") {
  const std::vector<std::uint8_t> two{1, 2, 3, 9, 9, 9, 1, 2, 3, 1, 2, 3};
  const IndexedPicture exact = raster().indexed(2, 2, two);
  CHECK(exact.palette == std::vector<Color>{{1, 2, 3}, {9, 9, 9}});
  CHECK(exact.pixels == std::vector<std::uint8_t>{0, 1, 0, 0});
  std::vector<std::uint8_t> many;
  for (int i = 0; i < 64 * 64; ++i)
    many.insert(many.end(),
                {static_cast<std::uint8_t>(i % 64 * 4), static_cast<std::uint8_t>(i / 64 * 4), 0});
  const IndexedPicture near = raster().indexed(64, 64, many);
  REQUIRE(near.palette.size() <= 256);
  int difference = 0;
  for (std::size_t i = 0; i < near.pixels.size(); ++i) {
    const Color c = near.palette[near.pixels[i]];
    difference += std::abs(c.red - many[3 * i]) + std::abs(c.green - many[3 * i + 1]);
  }
  CHECK(difference < 16 * 64 * 64);
  // What most of a picture has is exact: the white around it.
  std::vector<std::uint8_t> page(64 * 64 * 30, 255);
  page.insert(page.end(), many.begin(), many.end());
  const IndexedPicture white = raster().indexed(64, 64 * 11, page);
  CHECK(white.palette[white.pixels[0]] == Color{255, 255, 255});
}

TEST_CASE("sixels are runs of columns of six pixels") {
  IndexedPicture picture{5, 7, {{255, 0, 0}, {0, 0, 255}}, std::vector<std::uint8_t>(35, 0)};
  picture.pixels[34] = 1;
  CHECK(sixels(picture) == "\x1bP0;1q\"1;1;5;7#0;2;100;0;0#1;2;0;0;100#0!5~$-#0!4@?$#1!4?@$-\x1b\\");
}

TEST_CASE("kitty takes a file in pieces of base64") {
  CHECK(base64("") == "");
  CHECK(base64("a") == "YQ==");
  CHECK(base64("ab") == "YWI=");
  CHECK(base64("abc") == "YWJj");
  CHECK(kitty_picture("abc") == "\x1b_Ga=T,f=100,q=2,m=0;YWJj\x1b\\");
  const std::string long_one = kitty_picture(std::string(4000, 'x'));
  CHECK(long_one.starts_with("\x1b_Ga=T,f=100,q=2,m=1;"));
  CHECK(long_one.find("\x1b_Gm=0;") != std::string::npos);
}

TEST_CASE("what a terminal answers says what it shows") {
  using host::protocol_in;
  using Protocol = host::TerminalPictures::Protocol;
  CHECK(protocol_in("\x1b_Gi=31;OK\x1b\\\x1b[?62;c") == Protocol::Kitty);
  CHECK(protocol_in("\x1b[?62;4;22c") == Protocol::Sixel);
  CHECK(protocol_in("\x1b[?4;22c") == std::nullopt);  // the first number is the kind of terminal
  CHECK(protocol_in("\x1b[?1;2c") == std::nullopt);
  CHECK(protocol_in("\x1b[?62;44c") == std::nullopt);
  CHECK(protocol_in("") == std::nullopt);
}

TEST_CASE("colours have names, codes and maps") {
  CHECK(find_color("#0a0B0c") == Color{10, 11, 12});
  CHECK(find_color("C7") == series_color(0));
  CHECK(find_color("#12345") == std::nullopt);
  CHECK(find_color("C") == std::nullopt);
  const ColorMap& viridis = *find_color_map("viridis");
  CHECK(viridis.at(0) == Color{68, 1, 84});
  CHECK(viridis.at(2) == Color{253, 231, 37});
  for (int i = 1; i <= 100; ++i)
    CHECK(luminance(viridis.at(i / 100.0)) >= luminance(viridis.at((i - 1) / 100.0)));
}

}  // namespace
}  // namespace kiln::interp::plot::plot_test
