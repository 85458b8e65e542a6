#include "jit/loops/loop_invariant_loads.h"

#include <algorithm>

namespace kiln::jit {

bool has_loop_invariant_loads(const LoopNest& nest) {
  return std::any_of(nest.loads.begin(), nest.loads.end(),
                     [](const Load& each) { return each.loop_invariant; });
}

std::vector<bool> same_along_rows(const LoopNest& nest) {
  std::vector<bool> same;
  const auto is_same = [&](const Instruction& step) {
    if (step.invariant) return true;
    if (step.kind == Instruction::Kind::Read)
      return nest.loads[static_cast<std::size_t>(step.index)].loop_invariant;
    return std::all_of(step.operands.begin(), step.operands.end(),
                       [&](Register each) { return same[static_cast<std::size_t>(each)]; });
  };
  for (const Instruction& step : nest.body) same.push_back(is_same(step));
  return same;
}

bool can_hoist_loads(const LoopNest& nest, std::span<const std::int64_t> moves) {
  bool some_invariant = false;
  for (std::size_t k = 0; k < nest.loads.size(); ++k) {
    const Load& load = nest.loads[k];
    if (load.invariant) continue;
    if (load.loop_invariant == (moves[k] != 0)) return false;
    some_invariant = some_invariant || load.loop_invariant;
  }
  return some_invariant;
}

}  // namespace kiln::jit
