// Owns the files that the page of a call is made of: its document, style and scripts, embedded when Kiln is
// built.
#pragma once

#include <string_view>

namespace kiln::repl {

// The text of a file of repl/page/assets, by its name. Throws InternalError when there is none.
std::string_view page_asset(std::string_view name);

}  // namespace kiln::repl
