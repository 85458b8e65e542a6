// Owns the choice of a graph's tail kernels: those that run together at its end, and may write over
// arguments.
#pragma once

#include <vector>

#include "jit/cpu/elementwise_kernel.h"
#include "jit/graph/escape_analysis.h"

namespace kiln::jit {

struct TailKernels {
  // By node; null: the node runs at its place in the graph.
  std::vector<const ElementwiseKernel*> kernels;
  // By value: the input whose memory it may be written into; Operand::kAbsent: none.
  std::vector<ValueId> over;
};

// Tail kernels cannot fail, and nothing in the graph reads their results. Their results are small, or become
// the elements of inputs that nothing else needs by then.
TailKernels find_tail_kernels(const Graph& graph, const EscapeAnalysis& escapes);

}  // namespace kiln::jit
