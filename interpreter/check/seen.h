// Owns what a check tells of values on its way, for editors.
#pragma once

#include <functional>

#include "interpreter/values/value.h"
#include "lang/source.h"

namespace kiln::interp::check {

// The value of an expression or a parameter at a place of the program, each time that the check comes to it.
// Unknown values are left out. The value must not be changed.
using Seen = std::function<void(lang::Span place, const Value& value)>;

}  // namespace kiln::interp::check
