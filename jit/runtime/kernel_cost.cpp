#include "jit/runtime/kernel_cost.h"

#include <algorithm>
#include <set>

#include "jit/loops/places.h"

namespace kiln::jit {
namespace {

std::int64_t bytes_read(const Lowered& lowered, int input, const Tensor& x, const SymbolValues& symbols) {
  std::int64_t most = 0;
  for (const LoopNest& pass : lowered.passes) {
    for (const Load& load : pass.loads) {
      for (const Load& each : load.operands) {  // at most one for each element
        if (each.input == input)
          most =
              std::max<std::int64_t>(most, std::min(x.numel(), count_elements(evaluate(pass.axes, symbols))));
      }
      if (load.input != input) continue;
      most = std::max<std::int64_t>(most, count_elements(layout_of(load, x.layout(), symbols).layout.sizes));
    }
  }
  return std::min(most * static_cast<std::int64_t>(size_of(x.dtype())), bytes_of_elements(x));
}

std::int64_t kernel_flops(const Lowered& lowered, const Schedule& schedule, const SymbolValues& symbols) {
  std::set<int> counted;
  std::int64_t flops = 0;
  for (std::size_t p = 0; p < lowered.passes.size(); ++p) {
    const LoopNest& pass = lowered.passes[p];
    if (schedule.nests[p].of_rows) continue;
    auto steps = static_cast<std::int64_t>(pass.reductions.size() + pass.columns.size());
    for (const Instruction& each : pass.body) {
      const bool counts = each.kind == Instruction::Kind::Apply && !each.invariant;
      if (counts && counted.insert(each.node).second) ++steps;
    }
    flops += steps * count_elements(evaluate(pass.axes, symbols)).fixed();
  }
  return flops;
}

}  // namespace

Cost kernel_cost(const Lowered& lowered, const Schedule& schedule, Inputs operands, Inputs results,
                 const SymbolValues& symbols) {
  Cost cost{.bytes = 0, .flops = kernel_flops(lowered, schedule, symbols)};
  for (std::size_t k = 0; k < operands.size(); ++k)
    cost.bytes += bytes_read(lowered, static_cast<int>(k), operands[k], symbols);
  for (const Tensor& each : results) cost.bytes += bytes_of_elements(each);
  return cost;
}

}  // namespace kiln::jit
