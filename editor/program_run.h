// Owns running the program of a document, which only lenses ask for, and in a copy of the server alone.
#pragma once

#include <string>

#include "repl/session.h"

namespace kiln::editor {

struct ProgramRun {
  std::string name;      // in places of errors
  std::string path;      // what imports are relative to; may be ""
  std::string text;      // as it is in the editor
  std::string function;  // that the lens is of
};

struct RunReport {
  bool failed = false;
  std::string text;  // for the user
};

// Runs the program without its `is_main` part, and then the examples in the documentation of the function.
RunReport run_examples_of(repl::Session& session, const ProgramRun& run);
// Runs the program as such, and tells the compiled entries of the function and where it was cut.
RunReport show_compiled(repl::Session& session, const ProgramRun& run);

}  // namespace kiln::editor
