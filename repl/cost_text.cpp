#include "repl/cost_text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "repl/units.h"

namespace kiln::repl {
namespace {

std::string flops_text(std::optional<std::int64_t> flops) {
  if (!flops) return "-";
  static constexpr std::array<std::string_view, 4> kUnits{"", " K", " M", " G"};
  auto value = static_cast<double>(*flops);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? std::to_string(*flops) : fmt::format("{:.3g}{}", value, kUnits[unit]);
}

}  // namespace

CostText cost_text(const jit::NodeCost& cost) {
  std::string ops;
  for (const Op* each : cost.ops) ops += (ops.empty() ? "" : " ") + std::string(each->name());
  return {std::string(cost.node->op->name()),
          cost.is_kernel ? ops : "",
          bytes_text(static_cast<std::size_t>(cost.bytes)),
          flops_text(cost.flops),
          duration_text(cost.seconds),
          cost.share ? fmt::format("{:.0f} %", *cost.share * 100) : "-"};
}

std::string machine_text() {
  const jit::Machine& machine = jit::machine();
  return fmt::format("{:.3g} GB/s of memory, {:.3g} GFLOP/s of f32", machine.bytes_per_second / 1e9,
                     machine.flops_per_second / 1e9);
}

}  // namespace kiln::repl
