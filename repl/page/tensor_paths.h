// Owns the names of a call's parameters by their paths in the models that it is given: "layers.2.weight".
#pragma once

#include "interpreter/capture/stages.h"
#include "repl/written_call.h"

namespace kiln::repl {

// Renames the inputs of a captured graph that are tensors of what is called, of an argument, or of a variable
// of the program.
void name_by_paths(Session& session, const WrittenCall& call, interp::CapturedGraph& captured);

}  // namespace kiln::repl
