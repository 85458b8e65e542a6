// Owns the counter-based generator: Philox 4x32-10 (Salmon et al., SC'11), equal on any number of threads.
#pragma once

#include <array>
#include <cstdint>

namespace kiln {

// Element i of the draw that started at `offset` depends on (seed, offset, i) alone.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index);

struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // number of draws so far
};
// The process's generator. `seed(n)` resets it; a random op takes the current offset and counts one draw.
Generator& generator();
void seed(std::uint64_t value);
// The state of one draw, which is counted.
Generator next_draw();

}  // namespace kiln
