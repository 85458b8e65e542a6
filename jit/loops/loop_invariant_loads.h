// Owns loop-invariant loads: those that give one element for all of a row. A loop over the row reads them,
// and computes what depends on them alone, once before it begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/loops/loops.h"

namespace kiln::jit {

bool has_loop_invariant_loads(const LoopNest& nest);
// By instruction: is its value the same for all elements of a row, where loop-invariant loads give one
// element?
std::vector<bool> same_along_rows(const LoopNest& nest);
// Do calls with these `moves` (KernelCall) give one element for each loop-invariant load, and move on in all
// other loads? Then the nest's code takes the loop that hoists those loads.
bool can_hoist_loads(const LoopNest& nest, std::span<const std::int64_t> moves);

}  // namespace kiln::jit
