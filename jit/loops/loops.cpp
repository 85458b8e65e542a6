#include "jit/loops/loops.h"

#include <algorithm>

#include "tensor/ops/pointwise.h"

namespace kiln::jit {

bool shows_view(const Load& load) {
  return std::ranges::any_of(load.steps, [](const IndexStep& each) { return each.view != nullptr; });
}

std::int64_t work_of(const Op& op) {
  const Pointwise* const row = op.pointwise;
  const bool is_function = row != nullptr && (row->rule == TypeRule::Float || !row->failure.empty());
  return is_function || op.lowering.as<lowering::Draw>() != nullptr ? kCostly : 1;
}

std::int64_t cost_of(const LoopNest& nest) {
  std::int64_t cost = 1;
  for (const Load& each : nest.loads) {
    if (each.drawn != nullptr) cost += work_of(*each.drawn);
    if (each.gather != nullptr) cost += work_of(*each.gather);
  }
  for (const Instruction& step : nest.body) {
    if (step.kind == Instruction::Kind::Apply && !step.invariant) cost += work_of(*step.op);
  }
  return cost;
}

}  // namespace kiln::jit
