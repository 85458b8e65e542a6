// Owns what the rows of collectives share with the kernels that hand them on: the words of their attributes.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/collective.h"
#include "tensor/ops/rules.h"

namespace kiln::ops {

// The lines of a text, as many as tensors: names and places of a bucket.
std::vector<std::string> lines_of(std::string_view text, std::size_t count);
// The text of such lines; empty where all of them are.
std::string text_of(const std::vector<std::string>& lines);

// Throws OpError (Type) for a number, which has no elements of its own on each rank.
void check_tensor(const TensorType& x, const Attrs& attrs, int operand = 0);
// The same, and OpError (Shape) for a tensor without dimensions, which has no rows.
void check_rows(const TensorType& x, const Attrs& attrs);
// Throws OpError (DType) for bools, which have no sum.
void check_summed(const TensorType& x, const Attrs& attrs, int operand = 0);

// The attributes of the collective that a derivative starts: it goes by another name.
Attrs for_gradient(Attrs attrs);
Attrs for_tangent(Attrs attrs);
// Those that all rows have, for another row: process set, name and place.
Attrs attrs_like(const Op& op, const Attrs& attrs);

// The rules of rows for complex tensors: the same of their pairs.
Tensors of_pairs(const Op& op, Inputs inputs, const Attrs& attrs);
// Where `op` says how tensors are reduced: throws OpError (DType) for reductions that are no sums.
Tensors sums_of_pairs(const Op& op, Inputs inputs, const Attrs& attrs);
// Of rows: throws OpError (Shape) for a tensor without dimensions.
Tensors rows_of_pairs(const Op& op, Inputs inputs, const Attrs& attrs);

// The batch behind the rows, which come first; and back.
Tensor rows_first(const Tensor& batched);
Tensor batch_first(const Tensor& by_rows);

}  // namespace kiln::ops
