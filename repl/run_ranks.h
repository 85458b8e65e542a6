// Owns `kiln run`: a program, or the prompt, as the ranks of a job.
#pragma once

#include "repl/options.h"

namespace kiln::repl {

/// Runs what stands behind `kiln run` on the command line: options of the job, then what each rank runs.
/// Gives the exit code. Throws UsageError.
int run_ranks(const CommandLine& line);

/// The options of a job for `kiln --help`, a line each.
std::string run_usage();

}  // namespace kiln::repl
