// Owns backends that the program brings along: functions that make a callable of a graph.
#pragma once

#include <stdexcept>

#include "interpreter/capture/entry.h"

namespace kiln::interp::capture {

// What the program's callable raised. Whether it is to blame shows when the interpreter does the call.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Asks the backend for a callable of a functional graph, and runs that from then on. Throws OpError (Capture)
// when the backend raises or gives nothing that can be called. The runner throws BackendError, with the
// random state put back, when the callable raises, and TypeError or ValueError when it does not give what the
// graph does.
struct OwnRunner {
  Runner run;
  // What the backend gave. The runner refers to it without keeping it alive, so that what is kept stands
  // where the search for cycles finds it.
  std::shared_ptr<const Value> callable;
};
OwnRunner run_own(Interpreter& interpreter, const Value& backend, const jit::Graph& functional);

}  // namespace kiln::interp::capture
