// Owns what the kernel of arange asks of its row.
#pragma once

#include "tensor/op.h"

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

}  // namespace kiln
