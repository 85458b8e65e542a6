// After lowering: the loops of all kernels become code together, by the target of their device, equal ones
// once.
#include "jit/loops/kernel_op.h"
#include "jit/passes/passes.h"
#include "jit/pipeline/compile_nests.h"

namespace kiln::jit {
namespace {

const KernelOp* without_code(const Op& op) {
  const KernelOp* const kernel = as_kernel(op);
  return kernel != nullptr && !kernel->has_code() ? kernel : nullptr;
}

// Compiles the kernels of one target.
void compile_for(const Target& target, Graph& graph) {
  std::vector<std::shared_ptr<const Op>*> ops;
  std::vector<ScheduledNest> nests;
  for (auto& each : graph.own_ops) {
    const KernelOp* const kernel = without_code(*each);
    if (kernel == nullptr || kernel->origin.group().target != &target) continue;
    ops.push_back(&each);
    const auto own = nests_of(kernel->kernel->lowered().passes, kernel->kernel->schedule());
    nests.insert(nests.end(), own.begin(), own.end());
  }
  if (ops.empty()) return;
  const CompiledNests compiled = compile_nests(target, nests);
  auto function = compiled.functions.begin();
  for (auto* const each : ops) {
    const KernelOp* const kernel = as_kernel(**each);
    KernelParts parts = kernel->kernel->parts();
    const auto end = function + static_cast<std::ptrdiff_t>(parts.functions.size());
    parts.functions.assign(function, end);
    parts.code = compiled.code;
    function = end;
    const auto made = make_kernel_op(std::move(parts), kernel->origin);
    for (Node& node : graph.nodes) {
      if (node.op == kernel) node.op = made.get();
    }
    *each = made;
  }
}

}  // namespace

Graph compile_kernels(Graph graph) {
  for (const Target* const each : targets_of(graph)) compile_for(*each, graph);
  return graph;
}

}  // namespace kiln::jit
