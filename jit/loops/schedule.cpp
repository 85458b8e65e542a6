#include "jit/loops/schedule.h"

#include <algorithm>

namespace kiln::jit {

Schedule plain_schedule(std::span<const LoopNest> passes, std::int64_t vector) {
  Schedule schedule;
  schedule.vector = vector;
  for (const LoopNest& nest : passes) {
    NestSchedule& made = schedule.nests.emplace_back();
    made.loads.resize(nest.loads.size());
    made.stores.resize(nest.stores.size());
  }
  return schedule;
}

std::vector<ScheduledNest> nests_of(std::span<const LoopNest> passes, const Schedule& schedule) {
  std::vector<ScheduledNest> nests;
  for (std::size_t p = 0; p < passes.size(); ++p) nests.push_back({&passes[p], &schedule.nests[p]});
  return nests;
}

bool hoists_loads(const NestSchedule& nest) {
  return std::any_of(nest.loads.begin(), nest.loads.end(),
                     [](const LoadSchedule& each) { return each.hoisted; });
}

std::vector<bool> same_along_rows(const LoopNest& nest, const NestSchedule& schedule) {
  std::vector<bool> same;
  const auto is_same = [&](const Instruction& step) {
    if (step.invariant) return true;
    if (step.kind == Instruction::Kind::Read)
      return schedule.loads[static_cast<std::size_t>(step.index)].hoisted;
    return std::all_of(step.operands.begin(), step.operands.end(),
                       [&](Register each) { return same[static_cast<std::size_t>(each)]; });
  };
  for (const Instruction& step : nest.body) same.push_back(is_same(step));
  return same;
}

}  // namespace kiln::jit
