// Owns the choice of the kernels that run together as the last of a graph, and which write over arguments.
#pragma once

#include <vector>

#include "jit/elementwise_kernel.h"
#include "jit/exposure.h"

namespace kiln::jit {

struct LateKernels {
  // By node; null: it runs where it stands.
  std::vector<const ElementwiseKernel*> kernels;
  // By value: the input that it may be written over; Operand::kAbsent: none.
  std::vector<ValueId> over;
};

// Kernels whose results nothing in the graph reads, and which cannot fail: those of small results, and those
// whose results become the elements of inputs that nothing else needs then.
LateKernels find_late_kernels(const Graph& graph, const Exposure& exposure);

}  // namespace kiln::jit
