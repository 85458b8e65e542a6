// Owns colours: those of series, those that have names, and maps from numbers to colours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::interp::plot {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Color&) const = default;
};

constexpr Color color_of(std::uint32_t rgb) {
  return {static_cast<std::uint8_t>(rgb >> 16U), static_cast<std::uint8_t>(rgb >> 8U),
          static_cast<std::uint8_t>(rgb)};
}

// Of the i-th series of a panel; they repeat.
Color series_color(std::size_t i);

// A name ("red"), a number of a series ("C0") or a code ("#1f77b4").
std::optional<Color> find_color(std::string_view text);
std::string known_colors();

// Stops at equal distances, mixed in between.
struct ColorMap {
  std::string_view name;
  std::array<std::uint32_t, 17> stops;
  // The colour of a share from 0 to 1; beyond, that of the nearer end.
  Color at(double share) const;
};
// Null where no colour map has that name.
const ColorMap* find_color_map(std::string_view name);
std::string known_color_maps();

// How bright the eye finds it, from 0 to 255.
int luminance(Color color);

}  // namespace kiln::interp::plot
