// Owns the lines of the program that a call's nodes come from.
#pragma once

#include "interpreter/host/graph_stages.h"
#include "repl/page/page.h"
#include "repl/session.h"

namespace kiln::repl {

// Where a line of the program is, by file and number.
using SourceLines = std::map<std::pair<std::string, int>, LineId>;

// Adds a table with the text of what is called and, of each file that nodes come from, the lines of those
// with a few around them. Nothing where no text is known.
SourceLines add_source(CallPage& page, Session& session, const interp::Value& called,
                       const std::vector<interp::CapturedGraph>& graphs);

}  // namespace kiln::repl
