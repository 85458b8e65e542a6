// Owns the search for the node of a call that makes the first nan or inf.
#pragma once

#include <string>

#include "repl/walk.h"

namespace kiln::repl {

// What `:nan` says: arguments that are not finite from the start, then of the first node that makes a nan out
// of operands without one, and of the first that makes an inf out of operands without one, its line, its
// operands, and the elements at the first such place.
std::string not_finite_text(Session& session, const Walk& walk);

}  // namespace kiln::repl
