// Owns merging the axes that operands have in common, for the arguments of kernels.
#pragma once

#include <span>
#include <vector>

#include "tensor/cuda/kernels/axes.h"
#include "tensor/shape.h"

namespace kiln::cuda {

// Axes with the last one first, merged where all operands step through several as through one.
struct WalkAxes {
  // `strides`: of each operand along `sizes`.
  WalkAxes(const IntDims& sizes, std::span<const IntDims> strides);
  bool fits() const { return sizes.size() <= static_cast<std::size_t>(kMostAxes); }
  // As kernels take them, of as many operands.
  template <int kOperands>
  Axes<kOperands> argument() const {
    Axes<kOperands> axes{.rank = static_cast<Count>(sizes.size()), .sizes = {}, .strides = {}};
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      axes.sizes[d] = sizes[d];
      for (int k = 0; k < kOperands; ++k) axes.strides[k][d] = strides[static_cast<std::size_t>(k)][d];
    }
    return axes;
  }

  IntDims sizes;                 // at least one
  std::vector<IntDims> strides;  // by operand
};

}  // namespace kiln::cuda
