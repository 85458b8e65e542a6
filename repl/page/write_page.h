// Owns the page of a call as a text and as a file.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/host/graph_stages.h"
#include "repl/written_call.h"

namespace kiln::repl {

// The page of the call, whose title is the call as written. Throws UserError (CaptureError) for a call that
// runs no op.
std::string page_text(Session& session, std::string_view written, const WrittenCall& call);

// Writes the page of the call and gives the path: `path`, or that of a new temporary file where it is empty.
// Where that ends in .json it is the data of the page. The title is the call as written; where nothing is
// written, the function and the types of its arguments. Throws UserError (CaptureError) for a call that runs
// no op, (IOError) where it cannot be written.
std::string write_page(Session& session, std::string_view written, const WrittenCall& call, std::string path);

// The call as `:dot`, `:html` and `:export` draw it. Throws UserError (CaptureError) for one that runs no op.
interp::host::CapturedCall drawn_call(Session& session, const WrittenCall& call);

}  // namespace kiln::repl
