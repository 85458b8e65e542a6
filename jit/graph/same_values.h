// Owns finding values of one graph in another: computed by the same ops from the same values.
#pragma once

#include <vector>

#include "jit/graph/graph.h"

namespace kiln::jit {

// For every value of `to` the first one of `from` that it is the same as, kAbsent where there is none: those
// of `from` that are the same as each other count as one. `same`: those that are known to be, the others
// kAbsent.
std::vector<ValueId> same_values(const Graph& from, const Graph& to, std::vector<ValueId> same);

}  // namespace kiln::jit
