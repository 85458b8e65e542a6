// Owns rules of rows that are an expression over ONNX operators: their form, and writing their nodes.
//
//   expression: term (("+" | "-") term)*        Add, Sub
//   term:       factor (("*" | "/") factor)*    Mul, Div
//   factor:     number | name | Operator "(" argument ("," argument)* ")" | "(" expression ")"
//   argument:   expression | attribute "=" (number | name | "word")
//
// A name is a parameter of the row: an operand, or an attribute as a number. Numbers have the dtype of the
// first operand beside them. Operands of an elementwise row come in the dtype that it computes in, and the
// result is cast to that of the row's result. The name of an operator alone has all operands in their order.
#pragma once

#include "tensor/onnx/nodes.h"

namespace kiln {

// Throws InternalError for a text of another form.
OnnxValue write_onnx_expression(const OnnxApplication& application);

}  // namespace kiln
