// Owns the check of a program in a process of its own, which may crash or hang.
#pragma once

#include <optional>
#include <string>

#include "tests/capture/program.h"

namespace kiln::testing {

// What differs between the runs of a program; also that a run crashed or did not end.
std::optional<std::string> difference_apart(const Program& program);

}  // namespace kiln::testing
