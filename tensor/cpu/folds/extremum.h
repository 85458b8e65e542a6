// Owns finding the first extremum along a dimension.
#pragma once

#include "tensor/cpu/sequence_shape.h"

namespace kiln::cpu {

// Contiguous results, of outer * inner elements.
struct Extrema {
  Tensor places;    // i64
  Tensor values{};  // the elements there, bit by bit; absent unless wanted
};

// nan wins, and zeros are equal whatever their sign. Sequences have at least one element; is `inner` more
// than one, so many elements must take kNarrowestColumns bytes.
inline constexpr std::int64_t kNarrowestColumns = 16;
void find_extrema(const Extrema& results, const Tensor& x, const SequenceShape& shape, bool greatest);

}  // namespace kiln::cpu
