// Owns the arguments that calls of ops take beside those of their rows: `out`, a tensor that the result is
// written into, and `generator`, which random numbers are drawn from.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "interpreter/vm/op_entry.h"

namespace kiln::interp {

class Interpreter;

// Is it one of these, where the op has no such argument of its own?
bool is_beside(const OpEntry& entry, std::string_view argument);

// The call with such arguments: that without them, within the state of the generator, then written into
// `out`, which is the result. Throws OpError, whose operands are places of this call.
Value call_beside(Interpreter& interpreter, const OpEntry& entry, std::span<const Value> arguments,
                  std::span<const std::pair<std::string_view, Value>> named);

}  // namespace kiln::interp
