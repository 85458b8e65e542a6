// Owns what becomes of an exception at the outermost level: which message, which exit code, whose fault.
#pragma once

#include <string>

#include "lang/diagnostic.h"

namespace kiln::repl {

// The exit codes of `kiln`.
inline constexpr int kExitDone = 0;
inline constexpr int kExitError = 1;  // an uncaught error
inline constexpr int kExitUsage = 2;  // wrong usage, or text that is not Kiln
inline constexpr int kExitInterrupted = 130;

struct Failure {
  enum class Fault { User, Exit, Internal };
  Fault fault = Fault::User;
  lang::Diagnostic diagnostic;  // empty for Exit
  int exit_code = kExitError;
  std::string cause;  // Internal: what we know of it, for a report, not for the user
};

// Of the exception being handled. Call it only inside a `catch`. Takes note of an interrupt, so that the next
// entry starts with none requested.
Failure current_failure();

// Writes a script that reproduces an internal failure into `folder`; gives its path, or "" when it cannot.
// `done` are the entries that went well, `last` the one that failed.
std::string write_reproduction(const std::string& folder, const std::string& done, const std::string& last,
                               const std::string& cause);

}  // namespace kiln::repl
