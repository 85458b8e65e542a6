// Owns calls that compute types alone: their tensors have sizes and dtypes, and no elements.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "interpreter/values/value.h"

namespace kiln::interp {
class Interpreter;
}

namespace kiln::interp::host {

// Calls f with tensors of the same types as those in the arguments, also within lists, dicts and structs, and
// gives its result, whose tensors have types only. No op computes anything, no tensor is written, no random
// number is drawn, nothing is compiled or printed; gradients are off. Variables, lists, dicts and structs of
// the program hold afterwards what they held before. Throws what the call throws, and CaptureError where it
// asks for an element, or for something outside of the program.
Value call_without_elements(Interpreter& interpreter, const Value& f, std::span<const Value> positional,
                            std::span<const std::pair<std::string_view, Value>> named);

}  // namespace kiln::interp::host
