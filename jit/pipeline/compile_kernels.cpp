// After lowering: the loops of all kernels become machine code together, equal ones once.
#include <algorithm>

#include "jit/cpu/kernel_op.h"
#include "jit/cpu/same_code.h"
#include "jit/passes/passes.h"

namespace kiln::jit {
namespace {

const KernelOp* without_code(const Op& op) {
  const KernelOp* const kernel = as_kernel(op);
  return kernel != nullptr && !kernel->origin.code ? kernel : nullptr;
}

std::vector<const LoopNest*> nests_without_code(const Graph& graph) {
  std::vector<const LoopNest*> nests;
  for (const auto& each : graph.own_ops) {
    const KernelOp* const kernel = without_code(*each);
    if (kernel == nullptr) continue;
    for (const LoopNest& nest : kernel->kernel->lowered().passes) nests.push_back(&nest);
  }
  return nests;
}

}  // namespace

Graph compile_kernels(Graph graph) {
  const std::vector<const LoopNest*> nests = nests_without_code(graph);
  if (nests.empty()) return graph;
  const CompiledKernels compiled = compile_each_once(nests);
  auto function = compiled.functions.begin();
  for (auto& each : graph.own_ops) {
    const KernelOp* const kernel = without_code(*each);
    if (kernel == nullptr) continue;
    Lowered lowered = kernel->kernel->lowered();
    const auto end = function + static_cast<std::ptrdiff_t>(lowered.passes.size());
    KernelOp::Origin origin = kernel->origin;
    origin.code = compiled.code;
    const auto made = make_kernel_op(std::move(lowered), {function, end}, std::move(origin));
    function = end;
    for (Node& node : graph.nodes) {
      if (node.op == kernel) node.op = made.get();
    }
    each = made;
  }
  return graph;
}

}  // namespace kiln::jit
