// Owns the text of values that are shown by what they are and not by what they hold: functions, types,
// modules, files.
#pragma once

#include <string>

#include "interpreter/values/value.h"

namespace kiln::interp {

// "fn f(x, y=2)", "module 'nn'"; the name of the type for all others.
std::string object_text(const Value& value);

}  // namespace kiln::interp
