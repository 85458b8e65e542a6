// Owns host values as texts within a model: exact, and safe to read, since nothing is evaluated.
#pragma once

#include <string>
#include <string_view>

#include "jit/graph/program_call.h"

namespace kiln::onnx {

// `n` for none, `b1` and `b0`, `i-3;`, `f0x1.8p+1;`, `s3:abc`, `t2:` and two items, `o5:group` for the object
// that the program keeps under a name. Throws InternalError for what has no text.
std::string constant_text(const jit::HostValue& value);
// Throws OpError (Value) for a text of another form.
jit::HostValue read_constant(std::string_view text);

}  // namespace kiln::onnx
