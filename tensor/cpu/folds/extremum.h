// Owns finding the first extremum along a dimension.
#pragma once

#include "tensor/cpu/folds/sequence_shape.h"

namespace kiln::cpu {

struct Extrema {
  Tensor places;  // i64 [outer, inner]
  Tensor values;  // the elements there, bit by bit; none unless wanted
};

// nan wins, and zeros are equal whatever their sign. Sequences have at least one element; is `inner` more
// than one, so many elements must take kNarrowestColumns bytes.
inline constexpr std::int64_t kNarrowestColumns = 16;
Extrema find_extrema(const Tensor& x, const SequenceShape& shape, bool greatest, bool wants_values);

}  // namespace kiln::cpu
