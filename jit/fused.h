// Owns the last stage before running: a graph in which every kernel is one node, whose op runs compiled code.
#pragma once

#include <string>
#include <vector>

#include "jit/graph.h"

namespace kiln::jit {

struct FusedGraph {
  Graph graph;                     // Stage::Fused; runs as any graph does
  std::string fusion;              // print_fusion: what was fused, and why the rest was not
  std::vector<std::string> loops;  // print_loops of each kernel
};

// Finds groups in a functional graph, compiles each, and puts one node in its place. Views that kernels read
// through are gone where nothing else needs them. Throws InternalError when there is no compiler.
FusedGraph fuse(const Graph& graph);

}  // namespace kiln::jit
