// Owns the way from an entry to the body of a function that gives its value.
#pragma once

#include <string>

#include "lang/source.h"

namespace kiln::interp {

// The text with `return` before its last statement, if that is an expression. Throws UserError
// (SyntaxError) for text that does not parse, with places in `file`.
std::string returning(const lang::SourceFile& file);

}  // namespace kiln::interp
