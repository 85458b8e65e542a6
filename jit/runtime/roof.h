// Owns what this machine can do at most: the roofs under which kernels are seen.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::jit {

// Memory that holds so many bytes, which were touched before: a level of the caches, or what is behind them.
struct Roof {
  // "L1", "L2", "L3", "memory": the smallest that all threads together can hold the bytes in.
  std::string_view level;
  double bytes_per_second = 0;
};

// The most that copying or reading so many bytes reached here, on one thread or all. It is measured when it
// is first asked for, once for each power of two, and again when `seen` (bytes per second of a kernel) is
// more than it: then the moment was no quiet one. What a kernel reaches counts as reached.
Roof memory_roof(std::int64_t bytes, double seen = 0);

inline constexpr std::string_view kArithmetic = "arithmetic";
// The same for operations per second, by a product of f32 matrices on all threads.
double arithmetic_roof(double seen = 0);

}  // namespace kiln::jit
