// Owns how much `pad` puts around a tensor.
#pragma once

#include "tensor/tensor.h"

namespace kiln {

// How much is added before and after one dimension; negative crops.
struct Margin {
  Dim before;
  Dim after;
};

// Pads are given in pairs, the last dimension first.
Margin margin_of(const Dims& pads, std::size_t rank, std::size_t dim);
// Throws OpError (Shape, Overflow) for pads that do not fit.
Dims padded_sizes(const TensorType& x, const Dims& pads);

}  // namespace kiln
