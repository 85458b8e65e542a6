// Owns how a captured graph is run: the passes it goes through, and what executes the result.
#pragma once

#include "interpreter/capture/compiled.h"

namespace kiln::interp::capture {

// Throws OpError when the graph has no functional form.
Runner make_runner(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                   bool needs_gradients);

}  // namespace kiln::interp::capture
