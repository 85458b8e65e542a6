// Owns what a code of an error means, as text: the page of one, the list of all.
#pragma once

#include <string>
#include <string_view>

#include "lang/error_codes.h"
#include "repl/documentation.h"

namespace kiln::repl {

Page page_of(const lang::ErrorCode& code);

// The page of a code, or the codes of a kind of error, "ShapeError"; of "" all codes. Throws UserError for
// anything else.
std::string explanation(std::string_view of, bool color);

}  // namespace kiln::repl
