// Owns how tensors read within a line, and the signature of functions; shared by print and format.
#pragma once

#include <string>

#include "interpreter/values/natives.h"

namespace kiln::interp {

// "tensor([1, 2])" on one line; large ones elided, or by type alone: "tensor(f32[784, 128])".
std::string inline_tensor(const kiln::Tensor& x, const PrintOptions& options);

// As `str_of`, but a tensor of rank 1 or more stays on one line: for text with other text around it.
std::string line_of(Interpreter& interpreter, const Value& value);

// "f(x, y=2)", as it was written; and what its definition says of it.
std::string function_text(const Function& function);
std::string function_name(const Function& function);
std::string function_documentation(const Function& function);

// The only element as a host value; OpError (Value) when there is not exactly one.
Value item_of(const kiln::Tensor& x);

}  // namespace kiln::interp
