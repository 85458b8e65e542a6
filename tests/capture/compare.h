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

// What became of a program when it was compiled: how much there was to be compared. Unreported is a
// difference of which a run beside the interpreter told nothing.
struct Seen {
  enum Kind : std::uint8_t {
    Graphs,
    Hits,
    Breaks,
    Loops,
    UnrolledLoops,
    Gradients,
    Symbols,
    Recompiles,
    Unreported,
    kKinds
  };
  std::array<std::int64_t, kKinds> counts{};
  void add(const Seen& other) {
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += other.counts[k];
  }
};

struct Run {
  std::vector<Shown> shown;   // by each statement
  std::int64_t reported = 0;  // differences that were told, beside the interpreter
  std::int64_t errors = 0;    // statements that ended in one
};
// The device where runs make their tensors. It is looked for by the process that runs a program: none of its
// libraries is open before.
void set_device_of_runs(std::string name);
Run run(const Program& program, const Way& way, bool beside_interpreter, Seen& seen);

// The first thing that is wrong with the runs of a program, in words that begin with its kind: `output` or
// `state` of a compiled run are not those of the interpreted one, those `beside` the interpreter are not, a
// `report` of --check is of no difference, a `law` does not hold, a `mistake` is Kiln's own.
std::optional<std::string> difference(const Program& program, Seen& seen);
std::string kind_of(const std::string& difference);
std::int64_t errors_of(const std::string& difference);  // in the interpreted run

}  // namespace kiln::testing
