// Owns what `??name` shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "repl/session.h"

namespace kiln::repl {

// The text that defined a name, with its place; of what has none, its page and its rows of the op table.
// Nothing for a name that has no page.
std::optional<std::string> source_page(Session& session, std::string_view name, bool color);

}  // namespace kiln::repl
