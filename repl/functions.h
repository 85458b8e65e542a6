// Owns the functions of the language that answer as the prompt's commands do.
#pragma once

#include <span>

#include "interpreter/values/natives.h"
#include "repl/session.h"

namespace kiln::repl {

std::span<const interp::NativeDef> asking_functions();  // who doc source apropos
std::span<const interp::NativeDef> call_functions();    // html find_nan timeit

// Adds them to the prelude of the session's interpreter.
void install_functions(Session& session);

}  // namespace kiln::repl
