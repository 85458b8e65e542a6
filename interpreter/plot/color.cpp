#include "interpreter/plot/color.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kiln::interp::plot {
namespace {

struct NamedColor {
  std::string_view name;
  std::uint32_t rgb;
};
constexpr std::array<NamedColor, 16> kNames{{{"black", 0x000000},
                                             {"white", 0xffffff},
                                             {"gray", 0x808080},
                                             {"grey", 0x808080},
                                             {"red", 0xd62728},
                                             {"green", 0x2ca02c},
                                             {"blue", 0x1f77b4},
                                             {"orange", 0xff7f0e},
                                             {"purple", 0x9467bd},
                                             {"brown", 0x8c564b},
                                             {"pink", 0xe377c2},
                                             {"olive", 0xbcbd22},
                                             {"cyan", 0x17becf},
                                             {"yellow", 0xf0c808},
                                             {"magenta", 0xc2185b},
                                             {"navy", 0x1b2a6b}}};

// As Matplotlib has them, read off at 17 places (they differ from its own by at most 9 of 255).
constexpr std::array<ColorMap, 5> kMaps{
    {{"viridis",
      {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c, 0x1fa088,
       0x28ae80, 0x3fbc73, 0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219, 0xfde725}},
     {"magma",
      {0x000004, 0x0a0822, 0x1d1147, 0x36106b, 0x51127c, 0x6a1c81, 0x832681, 0x9c2e7f, 0xb73779, 0xd0416f,
       0xe75263, 0xf56b5c, 0xfc8961, 0xfea772, 0xfec488, 0xfde2a3, 0xfcfdbf}},
     {"plasma",
      {0x0d0887, 0x310597, 0x4c02a1, 0x6600a7, 0x7e03a8, 0x9511a1, 0xaa2395, 0xbc3587, 0xcc4778, 0xda5a6a,
       0xe66c5c, 0xf0804e, 0xf89540, 0xfdac33, 0xfdc527, 0xf8df25, 0xf0f921}},
     {"coolwarm",
      {0x3b4cc0, 0x4e68d8, 0x6282ea, 0x779af7, 0x8db0fe, 0xa3c2fe, 0xb9d0f9, 0xccd9ed, 0xdddcdc, 0xecd3c5,
       0xf5c4ac, 0xf7b093, 0xf4987a, 0xeb7d62, 0xdd5f4b, 0xca3b37, 0xb40426}},
     {"gray",
      {0x000000, 0x101010, 0x202020, 0x303030, 0x404040, 0x505050, 0x606060, 0x707070, 0x808080, 0x8f8f8f,
       0x9f9f9f, 0xafafaf, 0xbfbfbf, 0xcfcfcf, 0xdfdfdf, 0xefefef, 0xffffff}}}};

template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& each : table) names += (names.empty() ? "" : " ") + std::string(each.name);
  return names;
}

template <class T>
std::optional<T> number_in(std::string_view text, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Color series_color(std::size_t i) {
  // Okabe and Ito's, apart for every kind of sight.
  static constexpr std::array<std::uint32_t, 7> kColors{0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                                        0xd55e00, 0x56b4e9, 0x6e6e6e};
  return color_of(kColors[i % kColors.size()]);
}

std::optional<Color> find_color(std::string_view text) {
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& c) { return c.name == text; });
  if (found != kNames.end()) return color_of(found->rgb);
  if (text.size() == 7 && text[0] == '#') {
    if (const auto rgb = number_in<std::uint32_t>(text.substr(1), 16)) return color_of(*rgb);
  }
  if (text.size() > 1 && text[0] == 'C') {
    if (const auto series = number_in<std::size_t>(text.substr(1), 10)) return series_color(*series);
  }
  return std::nullopt;
}

std::string known_colors() { return names_of(kNames); }

Color ColorMap::at(double share) const {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double part = place - static_cast<double>(first);
  const Color a = color_of(stops[first]);
  const Color b = color_of(stops[first + 1]);
  const auto mixed = [&](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + part * (to - from)));
  };
  return {mixed(a.red, b.red), mixed(a.green, b.green), mixed(a.blue, b.blue)};
}

const ColorMap* find_color_map(std::string_view name) {
  const auto found = std::find_if(kMaps.begin(), kMaps.end(), [&](const auto& m) { return m.name == name; });
  return found == kMaps.end() ? nullptr : &*found;
}

std::string known_color_maps() { return names_of(kMaps); }

int luminance(Color color) { return (299 * color.red + 587 * color.green + 114 * color.blue) / 1000; }

}  // namespace kiln::interp::plot
