// Owns the functions of the language that answer as the prompt's commands do: who doc source.
#pragma once

#include "repl/session.h"

namespace kiln::repl {

// Adds them to the prelude of the session's interpreter.
void install_functions(Session& session);

}  // namespace kiln::repl
