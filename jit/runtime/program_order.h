// Owns the order in which the nodes of a program run: which kernels wait for the launch at its end, and which
// product is handed to its kernel piece by piece.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/graph/escape_analysis.h"

namespace kiln::jit {

struct ProgramOrder {
  std::vector<int> nodes;        // of the graph
  std::size_t launch = 0;        // of `nodes`: those from this one on are kernels that may run together
  std::vector<bool> feeds_next;  // by place in `nodes`: a product of which the next node takes the pieces
  // By value that is made in the launch: the input whose memory it may be written into; Operand::kAbsent:
  // none.
  std::vector<ValueId> over;
};

// Kernels of the launch cannot fail, and nothing in the graph reads their results. Their results are small,
// or become the elements of inputs that nothing else needs by then. A product waits for the kernel that alone
// reads it, if there are only views between.
ProgramOrder order_of(const Graph& graph, const EscapeAnalysis& escapes);

}  // namespace kiln::jit
