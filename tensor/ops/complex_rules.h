// Owns the bodies that rows name for complex operands: each op over ops on real and imaginary parts.
// docs/complex.md states the formulae.
#pragma once

#include "tensor/op.h"

namespace kiln::complex_rules {

// Of ops that move elements and are given some operands that are no values but say where.
inline ComplexRule moves_beside(std::uint32_t operands) {
  ComplexRule rule(ComplexRule::Moves);
  rule.beside = operands;
  return rule;
}

// ---- complex_arithmetic.cpp: elementwise ----

Tensors add(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors sub(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors mul(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors div(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors reciprocal(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors square(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors lerp(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors abs(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors sign(const Op& op, Inputs inputs, const Attrs& attrs);  // z / |z|
Tensors eq(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors ne(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors isnan(const Op& op, Inputs inputs, const Attrs& attrs);  // where either part is
Tensors isinf(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors isfinite(const Op& op, Inputs inputs, const Attrs& attrs);
// Of every operand, whether it differs from 0.
Tensors logical_not(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors logical_and(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors logical_or(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors logical_xor(const Op& op, Inputs inputs, const Attrs& attrs);

// ---- complex_functions.cpp: elementwise ----

Tensors sqrt(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors rsqrt(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors exp(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors exp2(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors expm1(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors log(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors log2(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors log10(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors log1p(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors pow(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors sin(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors cos(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors tan(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors asin(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors acos(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors atan(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors sinh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors cosh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors tanh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors asinh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors acosh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors atanh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors sigmoid(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors silu(const Op& op, Inputs inputs, const Attrs& attrs);

// ---- complex_families.cpp: the other families ----

// Ops that are linear in each operand, as products are: over all choices of parts.
Tensors multilinear(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors linear(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors convolution(const Op& op, Inputs inputs, const Attrs& attrs);
// The op's own body over operands as they are, of which real ones have no imaginary parts to be multiplied.
Tensors composed(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors prod(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors cumprod(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors var(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors std(const Op& op, Inputs inputs, const Attrs& attrs);
// The op on whether elements differ from 0: any, all, count_nonzero, nonzero.
Tensors of_truth(const Op& op, Inputs inputs, const Attrs& attrs);
// The op on the absolute values: norms.
Tensors of_sizes(const Op& op, Inputs inputs, const Attrs& attrs);
// To and between complex dtypes.
Tensors cast(const Op& op, Inputs inputs, const Attrs& attrs);
// Made as real numbers that are converted: arange, linspace.
Tensors converted(const Op& op, Inputs inputs, const Attrs& attrs);
// Both parts drawn: rand and rand_like; of variance 1/2 each: randn and randn_like.
Tensors uniform_parts(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors normal_parts(const Op& op, Inputs inputs, const Attrs& attrs);

}  // namespace kiln::complex_rules
