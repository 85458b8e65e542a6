// Owns complex operands as bodies see them: pairs of real tensors.
#pragma once

#include "tensor/functions.h"

namespace kiln {

// The parts of an operand; `imaginary` is absent where that is real.
struct Parts {
  Tensor real;
  Tensor imaginary;
  bool is_real() const { return !imaginary; }
  // As a number or tensor that has one, zeros where the operand is real.
  Tensor imaginary_or_zero() const;
};

// The dtype of the complex result of an op on these operands. Throws OpError (DType) where an op gives a
// result of another kind.
DType complex_result(Inputs operands);

Parts parts_of(const Tensor& x);
// In the dtype of the parts of a result: numbers of the host program stay as they are, which arithmetic
// converts.
Parts parts_of(const Tensor& x, DType complex);

Tensor joined(const Parts& z);
// z times i.
Parts times_i(const Parts& z);
Parts negative(const Parts& z);
Parts conjugate(const Parts& z);
Parts sum(const Parts& a, const Parts& b);
Parts difference(const Parts& a, const Parts& b);
Parts product(const Parts& a, const Parts& b);
Parts quotient(const Parts& a, const Parts& b);
Parts scaled(const Parts& z, double factor);
// |z|, with 0 as its derivative at 0.
Tensor modulus(const Parts& z);
Tensor angle(const Parts& z);
Parts square_root(const Parts& z);

}  // namespace kiln
