// Owns `kiln fmt`, `kiln check` and `kiln test`: work on files that runs no program, or only its tests.
#pragma once

#include "lang/diagnostic.h"
#include "repl/options.h"

namespace kiln::repl {

// Each gives the exit code: 0 all well, 1 something was found, 2 a file could not be read or parsed.
int run_format(const CommandLine& line);
int run_check(const CommandLine& line);
int run_tests(const CommandLine& line);

// Folders become the .kiln files below them, in order of name; files and "-" stay.
std::vector<std::string> expand_files(const std::vector<std::string>& files);

// How diagnostics are written on stderr for this command line.
void write_diagnostic(const lang::Diagnostic& diagnostic, const CommandLine& line);

}  // namespace kiln::repl
