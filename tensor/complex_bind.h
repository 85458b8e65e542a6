// Owns what ops do with complex operands: the one place where the column `complex` of the table is read.
#pragma once

#include "tensor/op.h"

namespace kiln {

// Is an operand complex, or a complex dtype asked for? Not of what is no row of the table, which takes what
// it is given.
bool is_of_complex(const Op& op, Inputs inputs, const Attrs& attrs);

// What an op does when it is: it goes on as it is, on these operands, or it was computed by ops on parts.
struct ComplexCall {
  bool goes_on = false;
  SmallVector<Tensor, 4> inputs{};
  Tensors results{};
};
// Throws OpError (DType) for an op that takes no complex numbers.
ComplexCall run_complex(const Op& op, Inputs inputs, const Attrs& attrs);

}  // namespace kiln
