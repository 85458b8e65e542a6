// Owns calls of functions for all sizes that their signatures name.
#pragma once

#include <optional>
#include <vector>

#include "interpreter/check/seen.h"
#include "interpreter/values/code.h"

namespace kiln::interp::check {

struct SupposedArguments {
  SupposedCall call;
  std::vector<Value> values;  // of the parameters up to the first with a default
};

// Nothing for a function that names no size, or takes any number of arguments.
std::optional<SupposedArguments> supposed_arguments(const Code& code);

}  // namespace kiln::interp::check
