// Owns the rows of the table of symbols, by kind.
#pragma once

#include <span>

#include "repl/symbols.h"

namespace kiln::repl {

std::span<const Symbol> keyword_pages();   // fn if for …
std::span<const Symbol> operator_pages();  // + == += …
std::span<const Symbol> sign_pages();      // [ ( : -> …

}  // namespace kiln::repl
