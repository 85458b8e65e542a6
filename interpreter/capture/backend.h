// Owns how a captured graph is run: the passes it goes through, and what executes the result.
#pragma once

#include "interpreter/capture/compiled.h"

namespace kiln::interp::capture {

// `wanted`: the inputs that require gradients while gradients are recorded. `note` becomes what is to be said
// of it: why gradients are not compiled. Throws OpError when the graph has no functional form.
Runner make_runner(Interpreter& interpreter, const CompileOptions& options, const jit::Graph& captured,
                   const std::vector<bool>& wanted, std::string& note);

}  // namespace kiln::interp::capture
