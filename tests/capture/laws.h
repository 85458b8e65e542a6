// Owns the laws of a program: a line that another in its place must come to.
#pragma once

#include <optional>
#include <string>

#include "tests/capture/compare.h"

namespace kiln::testing {

// What is printed with the law's plain line and is not in `found`, the run with the other, in words; nothing
// when the law holds. Numbers are the same where they lie as near as sums in another order do. An error ends
// what is compared: its words name the lines.
std::optional<std::string> broken_law(const Program& program, const Law& law, const Run& found);

}  // namespace kiln::testing
