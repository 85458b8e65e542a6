// Owns how kernels are told where the elements of their operands are. For the host and for cards: no standard
// headers.
#pragma once

namespace kiln::cuda {

using Count = long long;

inline constexpr int kMostAxes = 6;

// Axes with the last one first, at least one, and how far apart elements of each operand are along them.
template <int kOperands>
struct Axes {
  Count rank;
  Count sizes[kMostAxes];
  Count strides[kOperands][kMostAxes];
};

}  // namespace kiln::cuda
