// Owns `kiln jupyter`.
#pragma once

#include "repl/options.h"

namespace kiln::repl {

// Becomes `kiln-kernel`, the program beside this one, with the arguments of the line. Throws UsageError where
// there is none.
[[noreturn]] void run_jupyter(const CommandLine& line);

}  // namespace kiln::repl
