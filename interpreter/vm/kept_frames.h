// Owns what is kept of active calls for those who look into them: after an error, or at `breakpoint()`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/vm/vm.h"

namespace kiln::interp {

// One active call: where it stands, and its variables as they are. Values that are objects are shared with
// the program.
struct KeptFrame {
  std::string function;  // "" at top level
  lang::Span span;
  Value module;
  std::vector<std::pair<std::string, Value>> locals;  // those that are assigned, parameters first
};

// The active calls, innermost first.
std::vector<KeptFrame> keep_frames(Vm& vm);

// Will an error in the active frame end at a `catch` of the program?
bool is_caught(Vm& vm);

// Runs text in which the frame's variables can be read, under the name `name` in messages; gives the value of
// its last expression, or none. What it assigns to is its own. Throws UserError.
Value run_in(Interpreter& interpreter, const KeptFrame& frame, const std::string& name,
             std::string_view text);

}  // namespace kiln::interp
