// Owns which nodes make a tensor of one number: kernels need not read it from memory.
#pragma once

#include <optional>

#include "jit/graph/graph.h"

namespace kiln::jit {

// The number that every element of the result is, before it is cast; nothing for other nodes, and where the
// number depends on symbols or on elements.
std::optional<Number> filled_with(const Node& node);

}  // namespace kiln::jit
