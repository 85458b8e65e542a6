// Owns the conversation at a terminal, and its plain form for pipes.
#pragma once

#include "repl/options.h"
#include "repl/session.h"

namespace kiln::repl {

// Reads entries until Ctrl-D or `:quit`; gives the exit code. Uses the line editor on a terminal that can
// move the cursor, else reads lines.
int run_prompt(Session& session);

// Entries from standard input that is no terminal: no prompt is shown, errors do not stop it. Gives the exit
// code of the first entry that failed.
int run_piped(Session& session);

}  // namespace kiln::repl
