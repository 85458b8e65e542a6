// Owns how a contiguous tensor is read along one of its dimensions.
#pragma once

#include "tensor/tensor.h"

namespace kiln::cpu {

// Sequences of `count` elements, `inner` apart.
struct SequenceShape {
  std::int64_t outer = 1, count = 1, inner = 1;

  SequenceShape(const Tensor& x, int dim) {
    for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : d == dim ? count : inner) *= x.size(d).fixed();
  }
};

}  // namespace kiln::cpu
