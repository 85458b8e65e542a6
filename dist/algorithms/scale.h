// Owns the factors before and after a reduction, and what stands in for a rank that has joined.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/collective.h"
#include "tensor/dtype.h"

namespace kiln::dist {

/// Writes `count` elements of dtype `from`, times `factor`, as elements of dtype `to`; both may be one memory
/// when the dtypes are equal. Products are computed in f64; what becomes an integer is cut toward zero.
void scale(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out, double factor);

/// Fills elements with the value that changes no result of the operation: zeros of sums, the lowest value of
/// maxima.
void fill_neutral(DType dtype, kiln::ReduceOp op, std::span<std::byte> out);

}  // namespace kiln::dist
