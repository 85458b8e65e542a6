// Owns the elements of ranges, by their index. For the host and for cards: no standard headers.
#pragma once

#include "tensor/math/arithmetic.h"

namespace kiln {

struct WholeRange {
  math::Int64 start, step;  // sums and products wrap
};
struct RealRange {
  double start, step;
};
// From `start` to `end`, of which the last element has the index `last`.
struct RealSpacing {
  double start, end, step;
  math::Int64 last;
};
// The same between integers, which a double need not hold.
struct WholeSpacing {
  RealSpacing between;
  math::Int64 first, final;
};

KILN_MATH math::Int64 element_at(const WholeRange& range, math::Int64 index) {
  using Bits = math::UInt64;
  return static_cast<math::Int64>(static_cast<Bits>(range.start) +
                                  static_cast<Bits>(index) * static_cast<Bits>(range.step));
}
KILN_MATH double element_at(const RealRange& range, math::Int64 index) {
  return range.start + static_cast<double>(index) * range.step;
}
// From both ends, so that both are exact.
KILN_MATH double element_at(const RealSpacing& range, math::Int64 index) {
  return index <= range.last / 2 ? range.start + range.step * static_cast<double>(index)
                                 : range.end - range.step * static_cast<double>(range.last - index);
}
KILN_MATH math::Int64 element_at(const WholeSpacing& range, math::Int64 index) {
  if (index == 0) return range.first;
  if (index == range.between.last) return range.final;
  return math::to_int64(element_at(range.between, index));
}

}  // namespace kiln
