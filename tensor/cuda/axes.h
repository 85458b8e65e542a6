// Owns merging the axes that operands have in common, for the arguments of kernels.
#pragma once

#include <span>
#include <utility>
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

// Part of a walk.
struct WalkPart {
  explicit WalkPart(WalkAxes all) : walk(std::move(all)), first(walk.strides.size(), 0) {}
  std::int64_t count() const { return count_elements(walk.sizes); }
  // Steps of an operand from the first element of the whole walk to this one of the part.
  std::int64_t place(std::size_t operand, std::int64_t element) const;

  WalkAxes walk;
  IntDims first;          // place of the first element, by operand
  std::int64_t done = 0;  // elements before it
};

// Calls f for each part of a walk that a launch can take. What has more axes goes along the outermost one.
template <class F>
void each_launch(const WalkPart& whole, const F& f) {
  if (whole.walk.fits()) return f(whole);
  WalkPart part = whole;
  part.walk.sizes.pop_back();
  for (IntDims& each : part.walk.strides) each.pop_back();
  for (std::int64_t i = 0; i < whole.walk.sizes.back(); ++i, part.done += part.count()) {
    each_launch(part, f);
    for (std::size_t k = 0; k < part.first.size(); ++k) part.first[k] += whole.walk.strides[k].back();
  }
}

}  // namespace kiln::cuda
