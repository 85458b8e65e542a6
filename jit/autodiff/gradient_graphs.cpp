#include "jit/autodiff/gradient_graphs.h"

#include "jit/graph/custom.h"
#include "jit/graph/lineage.h"
#include "jit/passes/run_recipe.h"

namespace kiln::jit {

GradientGraphs gradient_graphs(const Graph& graph, const std::vector<bool>& wanted,
                               const PartitionOptions& options) {
  const InterpretedBackward
      whole;  // what only the interpreter differentiates is a node of the joint graph, too
  const Derivation derivation(graph.stage == Stage::Captured ? run_recipe(recipes::kViews, graph) : graph,
                              wanted);
  std::vector<Derivation::Incoming> incoming;
  for (auto& [result, each] : derivation.of_results()) {
    if (!derivation.is_input(each.edge)) incoming.push_back(std::move(each));
  }
  if (incoming.empty()) throw OpError(ErrorKind::Capture, "no result has a gradient by an input");
  GradientGraphs made;
  made.joint = derivation.joint(incoming);
  Joint numbered = made.joint;
  number_nodes(numbered.graph);
  made.parts = partition(numbered, options);
  made.joint.graph.saved_sizes = made.parts.report.sizes;
  made.joint.graph.saved = made.parts.kept;
  return made;
}

}  // namespace kiln::jit
