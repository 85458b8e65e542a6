// Owns what kernels ask of the rows that make tensors from sizes, numbers and indices.
#pragma once

#include <variant>

#include "tensor/op.h"
#include "tensor/ranges.h"

namespace kiln {

// Where a range begins and ends, and how far it steps: numbers of the attributes.
struct Bounds {
  Attr start = std::int64_t{0};
  Attr end;
  Attr step;
  // Are all of them integers?
  bool whole() const;
};
Bounds bounds_of(const Attrs& attrs);
std::int64_t int_of(const Attr& attr);

// How the elements of a result are computed, before they are cast to its dtype.
std::variant<WholeRange, RealRange> range_of(const Attrs& attrs, DType dtype);
std::variant<RealSpacing, WholeSpacing> spacing_of(const Attrs& attrs, const Tensor& result);

// Of tril and triu. Diagonals further out than any matrix are all alike.
std::int64_t triangle_diagonal(const Attrs& attrs);

// Where the largest index decides the type of one_hot's result: there must be one, found on the index's
// device.
void check_some_class(const Tensor& index);
Tensor largest_index(const Tensor& index);
TensorType one_hot_type(const Tensor& index, std::int64_t largest);
OpError wrong_class(std::int64_t index, std::int64_t classes);

}  // namespace kiln
