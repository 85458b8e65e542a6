// Owns what a loop over a row computes once for the row: of loads that repeat along it, and of nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/loops.h"

namespace kiln::jit {

bool has_repeating_loads(const LoopNest& nest);
// By instruction: is it the same for all elements of a row, where loads that repeat give one element?
std::vector<bool> same_along_rows(const LoopNest& nest);
// Do calls with such `moves` (KernelCall) give one element of those loads, and all others move on? Then the
// nest's code takes the loop that reads them before it begins.
bool is_steady(const LoopNest& nest, std::span<const std::int64_t> moves);

}  // namespace kiln::jit
