// Owns how much memory a graph takes while it runs.
#pragma once

#include <cstdint>

#include "jit/graph.h"

namespace kiln::jit {

// The most bytes that what the graph makes takes at once, results among it, at the hints: each value is there
// from the node that makes it to the last one that reads it, or a view of it. Arguments are the caller's.
std::int64_t peak_bytes(const Graph& graph);

}  // namespace kiln::jit
