// Owns the last stage before running: a graph in which every kernel is one node, whose op runs compiled code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/loops/kernel_op.h"
#include "jit/passes/no_compiler.h"

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

}  // namespace kiln::jit
