// Owns the tools of `kiln`: `fmt`, `check` and `test`, which run no program or only its tests, and `lsp`.
#pragma once

#include "lang/diagnostic.h"
#include "repl/options.h"

namespace kiln::repl {

// Each gives the exit code: 0 all well, 1 something was found, 2 a file or folder could not be read, or a
// file not be parsed. Tests throw OpError (Interrupted) at Ctrl-C.
int run_format(const CommandLine& line);
int run_check(const CommandLine& line);
int run_tests(const CommandLine& line);

// `kiln lsp`: this process becomes the language server, a program beside this one, which links no line
// editor. Throws UsageError where it is not there.
[[noreturn]] int run_language_server();

// How diagnostics are written on stderr for this command line.
void write_diagnostic(const lang::Diagnostic& diagnostic, const CommandLine& line);

}  // namespace kiln::repl
