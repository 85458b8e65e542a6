// Owns the comparison of runs: what a program shows in the interpreter and compiled must not differ.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

// What one statement of the top level showed: what it printed or the error it ended in, then the state.
struct Shown {
  std::string output;
  std::string state;
  friend bool operator==(const Shown&, const Shown&) = default;
};

// What became of a program when it was compiled: how much there was to be compared.
struct Seen {
  enum Kind : std::uint8_t { Graphs, Hits, Breaks, Loops, Trips, Gradients, Symbols, Recompiles, kKinds };
  std::array<std::int64_t, kKinds> counts{};
  void add(const Seen& other) {
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += other.counts[k];
  }
};

std::vector<Shown> run(const Program& program, const Way& way, Seen& seen);

// The first difference between the interpreted run and a compiled one, in words.
std::optional<std::string> difference(const Program& program, Seen& seen);

}  // namespace kiln::testing
