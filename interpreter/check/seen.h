// Owns what a check tells of values on its way, for editors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "interpreter/values/value.h"
#include "lang/ast.h"

namespace kiln::interp::check {

// The value of an expression or a parameter at a place of the program, each time that the check comes to it.
// Unknown values are left out. The value must not be changed.
using Seen = std::function<void(lang::Span place, const Value& value)>;

// A call of a function for all sizes that its signature names: each of them is a number that stands in no
// program, so that sizes in types can be told as what they follow from.
struct SupposedCall {
  const lang::FunctionExpr* function = nullptr;
  std::map<std::int64_t, std::string> sizes;  // the names, by the numbers
};
// Told before such a call, and with null behind it.
using Supposes = std::function<void(const SupposedCall* call)>;

}  // namespace kiln::interp::check
