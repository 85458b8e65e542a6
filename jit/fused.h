// Owns the last stage before running: a graph in which every kernel is one node, whose op runs compiled code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/compiler.h"
#include "jit/graph.h"
#include "jit/lower.h"

namespace kiln::jit {

struct FusedGraph {
  Graph graph;  // Stage::Fused; runs as any graph does

  std::string fusion() const;              // what was fused, and why the rest was not
  std::vector<std::string> loops() const;  // of each kernel
};

// Finds groups in a functional graph, compiles each, and puts one node in its place (recipes::kKernels).
// Views that kernels read through are gone where nothing else needs them. Throws NoCompiler when there is
// none.
FusedGraph fuse(Graph graph);
// The same for those who only look: nothing is compiled, and it cannot run.
Graph outline(const Graph& graph);

class ElementwiseKernel;
// The kernel that is the op's; null when it is no kernel, or one with reductions.
const ElementwiseKernel* elementwise_kernel_of(const Op& op);

// A kernel of a fused graph, for those who look into it.
struct FusedKernel {
  const Op* op;  // of its node
  const Lowered* lowered;
  const Graph* source;               // the graph that was fused: nodes of loop nests are its nodes
  std::span<const int> nodes;        // of the source that it computes
  std::span<const ValueId> outputs;  // likewise, that it gives
  const Codes* code;                 // of all kernels of the graph together; null where it is not made
};
// In order; none for a graph that is not fused. They live as long as the graph's own.
std::vector<FusedKernel> kernels_of(const Graph& fused);

}  // namespace kiln::jit
