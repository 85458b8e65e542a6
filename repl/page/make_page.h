// Owns making the page of a call, by the functions that the commands of each stage show it with.
#pragma once

#include "interpreter/host/graph_stages.h"
#include "repl/page/page.h"
#include "repl/written_call.h"

namespace kiln::repl {

// `text` is the call as written. Throws what making its stages throws, but for a stage that the call does not
// have.
CallPage make_page(Session& session, std::string_view text, const WrittenCall& written,
                   const interp::host::CapturedCall& call);

}  // namespace kiln::repl
