// Owns when a call may take the loop that reads hoisted loads before it begins (jit/loops/schedule.h).
#pragma once

#include <cstdint>
#include <span>

#include "jit/loops/schedule.h"

namespace kiln::jit {

// Do calls with these `moves` (KernelCall) give one element for each hoisted load, and move on in all other
// loads? Then the nest's code takes the loop that hoists those loads.
bool can_hoist_loads(const ScheduledNest& scheduled, std::span<const std::int64_t> moves);

}  // namespace kiln::jit
