// Owns sparse gradients: of a matrix of which a backward touched few rows, these rows and their numbers.
#pragma once

#include "tensor/op.h"

namespace kiln::sparse {

// Has x the type of a matrix, and elements of some rows alone? Such a tensor is no operand of ops: `bind`
// refuses it. It never changes, but for what a program writes into its `values`.
bool is_sparse(const Tensor& x);
// Of a sparse gradient: which rows there are (i64[count], ascending, each once), and these rows ([count,
// width]).
const Tensor& indices(const Tensor& x);
const Tensor& values(const Tensor& x);

// A gradient of `sizes` whose rows `index` are those of `rows`. Rows that are named more than once are summed
// in their order, as `index_add` into zeros does, so that `to_dense` has the bits of the dense gradient.
// Indices must be whole numbers from 0 on.
Tensor from_rows(const Tensor& index, const Tensor& rows, std::span<const Dim> sizes);
// The matrix with zeros in all other rows.
Tensor to_dense(const Tensor& x);
// A sum of which one part is sparse: sparse where both are.
Tensor add(const Tensor& a, const Tensor& b);
// The same gradient with rows of its own, to which writes go that no other tensor sees.
Tensor share(const Tensor& x);

// Throws OpError (Type): `op` was given the sparse gradient inputs[operand].
[[noreturn]] void refuse(const Op& op, Inputs inputs, int operand);
// Throws OpError (Type): the elements of x are asked for.
[[noreturn]] void refuse_reading(const Tensor& x);
// "a sparse gradient f32[1000, 8] of 2 rows"
std::string describe(const Tensor& x);

}  // namespace kiln::sparse
