// Owns backends written by the program: functions that make a callable of a graph.
#pragma once

#include <stdexcept>

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

// The error of a backend or pass of the program as "ValueError: no such op (demo.kiln:3)". An interrupt
// passes through to the user: called in its handler.
std::string sentence_of(const lang::UserError& error);

// The error that the program's callable raised. The interpreter's run of the call shows whether the callable
// is to blame.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Asks the backend for a callable of a functional graph, and runs that from then on. Throws OpError (Capture)
// when the backend raises or returns nothing that can be called. The runner throws BackendError, with the
// random state restored, when the callable raises, and TypeError or ValueError when its results are not of
// the graph's types.
struct OwnRunner {
  Runner run;
  // The backend's callable. The runner does not keep it alive: its owner must be found by the search for
  // cycles.
  std::shared_ptr<const Value> callable;
};
OwnRunner run_own(Interpreter& interpreter, const Value& backend, const jit::Graph& functional);

}  // namespace kiln::interp::capture
