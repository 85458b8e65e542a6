#include "jit/pipeline/fused.h"

#include "jit/passes/run_recipe.h"

namespace kiln::jit {

FusedGraph fuse(Graph graph) { return {run_recipe(recipes::kKernels, std::move(graph))}; }

Graph outline(const Graph& graph) { return run_recipe(recipes::kOutline, graph); }

}  // namespace kiln::jit
