#include "jit/cpu/hoisted_loads.h"

namespace kiln::jit {

bool can_hoist_loads(const ScheduledNest& scheduled, std::span<const std::int64_t> moves) {
  bool some_hoisted = false;
  for (std::size_t k = 0; k < scheduled.nest->loads.size(); ++k) {
    if (scheduled.nest->loads[k].invariant) continue;
    const bool hoisted = scheduled.schedule->loads[k].hoisted;
    if (hoisted == (moves[k] != 0)) return false;
    some_hoisted = some_hoisted || hoisted;
  }
  return some_hoisted;
}

}  // namespace kiln::jit
