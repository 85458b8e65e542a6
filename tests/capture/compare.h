// Owns the comparison of runs: what a program shows in the interpreter and compiled must not differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/capture/program.h"

namespace kiln::testing {

enum class Mode : std::uint8_t {
  Interpreted,
  Compiled,  // every function from its first call on
  Wrapped,   // in `jit`, the functions of the top level
};

// What one statement of the top level showed: what it printed or the error it ended in, then the state.
struct Shown {
  std::string output;
  std::string state;
  friend bool operator==(const Shown&, const Shown&) = default;
};
std::vector<Shown> run(const Program& program, Mode mode);

// The first difference between the interpreted run and a compiled one, in words.
std::optional<std::string> difference(const Program& program);

}  // namespace kiln::testing
