// Owns `kiln fmt`, `kiln check` and `kiln test`: work on files that runs no program, or only its tests.
#pragma once

#include "lang/diagnostic.h"
#include "repl/options.h"

namespace kiln::repl {

// Each gives the exit code: 0 all well, 1 something was found, 2 a file or folder could not be read, or a
// file not be parsed. Tests throw OpError (Interrupted) at Ctrl-C.
int run_format(const CommandLine& line);
int run_check(const CommandLine& line);
int run_tests(const CommandLine& line);

// How diagnostics are written on stderr for this command line.
void write_diagnostic(const lang::Diagnostic& diagnostic, const CommandLine& line);

}  // namespace kiln::repl
