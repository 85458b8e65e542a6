#include "repl/cost_text.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "jit/runtime/roof.h"
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

// "59 % of L2, 41 GB/s": the share of the nearer roof, and what that roof is.
std::string roof_text(const jit::NodeCost& cost) {
  if (!cost.share) return "-";
  const std::string share = fmt::format("{:.0f} % of {}", *cost.share * 100, cost.roof);
  return cost.roof == jit::kArithmetic
             ? fmt::format("{}, {:.3g} GFLOP/s", share, jit::arithmetic_roof() / 1e9)
             : fmt::format("{}, {:.3g} GB/s", share, jit::memory_roof(cost.bytes).bytes_per_second / 1e9);
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
          roof_text(cost)};
}

}  // namespace kiln::repl
