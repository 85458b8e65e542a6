// Owns how messages count things: "1 row", "2 rows", "2 indices".
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kiln {

template <typename Count>
std::string how_many(const Count& count, std::string_view one, std::string_view many = {}) {
  const std::string number = fmt::to_string(count);
  if (number == "1") return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

}  // namespace kiln
