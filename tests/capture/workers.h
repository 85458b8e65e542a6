// Owns running many programs in several processes, which may crash or hang without taking the others along.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/capture/compare.h"

namespace kiln::testing {

// What became of the program of one seed.
struct Ran {
  std::uint64_t seed = 0;
  std::string kind;
  Seen seen;
  std::optional<std::string> difference;  // also that the run crashed or did not end
};

struct Range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// Programs of a seed each, of the named themes, or of any.
struct Programs {
  Range seeds;
  std::vector<std::string> themes;
};

// Runs the programs in `jobs` processes at once, some after each other in each, and calls `done`
// for each as it ends, in no order. Begins nothing new once `until` has passed or `done` gave false.
void run_programs(Programs programs, int jobs, std::optional<std::chrono::steady_clock::time_point> until,
                  const std::function<bool(const Ran&)>& done);

inline constexpr unsigned kMostSeconds = 120;  // for one program
inline constexpr const char* kDoesNotEnd = "a run does not end\n";

// What differs between the runs of one program in a process of its own; kDoesNotEnd after `most_seconds`.
std::optional<std::string> difference_apart(const Program& program, unsigned most_seconds = kMostSeconds);

}  // namespace kiln::testing
