// Owns what lanes of a warp do together: when all that a mask names have come, and what each then gets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "tests/cuda/fake/shim/abi.h"

namespace kiln::fake {

inline constexpr unsigned kLanes = 32;

// Calls `f` with the number of each lane that a mask names.
template <class F>
void each_lane(std::uint32_t mask, const F& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

struct Warp {
  std::uint32_t alive = 0, waiting = 0;
  std::array<KilnFakeLane*, kLanes> lanes{};  // of those that wait
};

// The lanes that can go on together with lane `own`, or 0 where one is missing. Lanes that have ended, or
// never were, are not waited for.
std::uint32_t complete_with(const Warp& warp, unsigned own);

// What is wrong where these lanes meet; "" where nothing is.
std::string problem_of(const Warp& warp, std::uint32_t together);

// Gives these lanes their results. What is read from a lane that is not among them is not defined: it gets
// bits that are seen in a result.
void exchange(Warp& warp, std::uint32_t together);

}  // namespace kiln::fake
