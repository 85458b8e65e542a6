// Owns `kiln jupyter`.
#pragma once

#include <string>
#include <vector>

namespace kiln::repl {

// Becomes `kiln-kernel`, the program beside this one, with these arguments. Throws UsageError where
// there is none.
[[noreturn]] void run_jupyter(const std::vector<std::string>& arguments);

}  // namespace kiln::repl
