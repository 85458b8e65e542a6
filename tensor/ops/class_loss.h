// Owns where the classes of a loss are.
#pragma once

#include <cstddef>

namespace kiln {

// x is [classes], [n, classes] or [n, classes, ...].
inline int class_dim(std::size_t rank) { return rank < 2 ? 0 : 1; }

}  // namespace kiln
