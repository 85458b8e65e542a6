// Owns what bodies of linear algebra over smaller ops share. They are unrolled over the sizes of a matrix, as
// graphs of ONNX have no loop that a body could say.
#pragma once

#include <vector>

#include "tensor/ops/linalg.h"

namespace kiln::onnx_rules {

// A number of nodes that runtimes load within seconds.
inline constexpr std::int64_t kMostUnrolled = 32;

// The size along the last dimension but `back`. Throws OpError (Value) unless it is 1 to kMostUnrolled.
std::int64_t unrolled_size(const Op& op, const Tensor& x, int back);

// Rows or columns [start, start + count) of matrices.
Tensor some_rows(const Tensor& x, std::int64_t start, std::int64_t count);
Tensor some_columns(const Tensor& x, std::int64_t start, std::int64_t count);
Tensor below(Inputs parts);   // one under the other, without those that have no rows
Tensor beside(Inputs parts);  // from left to right, without those that have no columns
// Zeros of rows by columns for each matrix of the batch of x.
Tensor zero_block(const Tensor& x, std::int64_t rows, std::int64_t columns);
// The rows and columns of x without the first ones.
Tensor trailing(const Tensor& x, std::int64_t rows, std::int64_t columns);

// The solution of triangular systems with matrices on the right-hand side, whose batches are those of a.
Tensor solved_by_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit);

// Householder's factors of m by n matrices, with the signs of LAPACK: r of m by n, and the first columns of
// q.
struct Orthogonal {
  Tensor q, r;
};
Orthogonal orthogonal_factors(const Op& op, const Tensor& x, std::int64_t columns);

}  // namespace kiln::onnx_rules
