// Owns the user's init file, which runs before the first entry.
#pragma once

#include "repl/session.h"

namespace kiln::repl {

// Runs `init.kiln` of the config folder (repl/paths.h) when there is one.
void run_init_file(Session& session);

}  // namespace kiln::repl
