// Owns the reading of `>>> ` examples in documentation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace kiln::repl {

// An entry and what it should print. `line` counts from 0 within the documentation.
struct Example {
  std::string entry;
  std::string expected;  // without trailing blank space; empty: nothing
  int line = 0;
};

// Lines that begin with `>>> ` or `kiln> ` are entries, "... " continues one; what follows up to a blank line
// is expected.
std::vector<Example> find_examples(std::string_view documentation);

// An example that prints something else than it says.
struct FailedExample {
  Example example;
  std::string actual;  // results, and of an error its first line
};
// Runs the examples of a documentation, of which later ones may use what earlier ones made, up to the first
// that fails. Throws OpError (Interrupted) after Ctrl-C.
std::optional<FailedExample> run_examples(Session& session, std::string_view documentation);

// Equal but for blank space at line ends and at the end?
bool same_output(std::string_view expected, std::string_view actual);

}  // namespace kiln::repl
