// Owns what kernels of arange and linspace ask of their rows.
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

}  // namespace kiln
