// Owns the text of values that need no interpreter to be written.
#pragma once

#include <optional>
#include <string>

#include "interpreter/values/value.h"

namespace kiln::interp {

// As the prompt shows none, bools, numbers and dtypes; nothing for all others.
std::optional<std::string> repr_of_plain(const Value& value);

}  // namespace kiln::interp
