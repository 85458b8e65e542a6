// Owns the last words of a process that dies of a defect of ours: the entries so far, as a script.
#pragma once

#include <string>

#include "repl/session.h"

namespace kiln::repl {

// From now on a fatal signal writes the session's entries and the one that ran to a file in `folder`, names
// the file on stderr, and then ends the process as it would have. The session must outlive the process's use
// of it.
void watch_crashes(const std::string& folder, const Session& session);

}  // namespace kiln::repl
