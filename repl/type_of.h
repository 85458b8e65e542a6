// Owns `:type`: the type of an expression worked out from the types of its parts, without running it.
#pragma once

#include <string>
#include <string_view>

#include "repl/session.h"

namespace kiln::repl {

// "f32[3, 4]", "int", "list of 3"; or a sentence on what cannot be known without running. Throws UserError
// for what would fail: a syntax error, an unknown name, shapes that do not fit.
std::string type_of(Session& session, std::string_view text);

}  // namespace kiln::repl
