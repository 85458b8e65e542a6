#include "jit/fused.h"

#include "jit/elementwise_kernel.h"
#include "jit/kernel_op.h"
#include "jit/run_recipe.h"

namespace kiln::jit {

FusedGraph fuse(Graph graph) { return {run_recipe(recipes::kKernels, std::move(graph))}; }

Graph outline(const Graph& graph) { return run_recipe(recipes::kOutline, graph); }

const ElementwiseKernel* elementwise_kernel_of(const Op& op) {
  const KernelOp* const kernel = as_kernel(op);
  return kernel == nullptr ? nullptr : dynamic_cast<const ElementwiseKernel*>(kernel->kernel.get());
}

std::vector<FusedKernel> kernels_of(const Graph& fused) {
  std::vector<FusedKernel> kernels;
  for (const auto& each : fused.own_ops) {
    const KernelOp* const op = as_kernel(*each);
    if (op == nullptr) continue;
    const Grouping& from = *op->origin.grouping;
    const Group& group = from.fusion.groups[op->origin.number];
    kernels.push_back(
        {op, &op->kernel->lowered(), &from.source, group.nodes, group.outputs, op->origin.code.get()});
  }
  return kernels;
}

}  // namespace kiln::jit
