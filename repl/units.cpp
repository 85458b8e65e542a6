#include "repl/units.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace kiln::repl {

std::string duration_text(double seconds) {
  struct Unit {
    double size;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  for (const Unit& unit : kUnits) {
    if (seconds < unit.size && unit.size > 1e-9) continue;
    const double amount = seconds / unit.size;
    return fmt::format("{:.{}f} {}", amount, amount >= 100 ? 0 : amount >= 10 ? 1 : 2, unit.name);
  }
  return {};
}

std::string bytes_text(std::size_t bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return amount == static_cast<double>(static_cast<std::int64_t>(amount)) || amount >= 100
             ? fmt::format("{:.0f} {}", amount, kUnits[unit])
             : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

}  // namespace kiln::repl
