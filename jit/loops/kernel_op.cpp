#include "jit/loops/kernel_op.h"

#include <algorithm>

#include "jit/passes/target.h"
#include "tensor/error.h"

namespace kiln::jit {
namespace {

[[noreturn]] void refuse(std::string_view name) {
  throw OpError(ErrorKind::Capture, std::string(name) + " is not compiled yet", {},
                "the pass `compile` makes code of kernels");
}

Tensors run_group(const Op& op, Inputs, const Attrs&) { refuse(op.name()); }
std::vector<TensorType> infer_group(std::span<const TensorType>, const Attrs& attrs) {
  const auto& op = static_cast<const GroupOp&>(*attrs.op());
  const Dims& numbers = attrs.get<Dims>("symbols");
  SymbolValues values;
  for (std::size_t k = 0; k < op.symbols.size(); ++k) values.emplace(op.symbols[k], numbers[k]);
  std::vector<TensorType> types;
  const Graph& source = op.grouping->source;
  for (const ValueId id : op.grouping->fusion.groups[op.number].outputs)
    types.push_back(evaluate(source.values[static_cast<std::size_t>(id)].type, values));
  return types;
}

Tensors run_kernel(const Op& op, Inputs inputs, const Attrs& attrs) {
  const auto& row = static_cast<const KernelOp&>(op);
  if (!row.has_code()) refuse(op.name());
  return row.kernel->run(inputs, attrs.get<Dims>("symbols"));
}
std::vector<TensorType> infer_kernel(std::span<const TensorType>, const Attrs& attrs) {
  return static_cast<const KernelOp&>(*attrs.op()).kernel->types(attrs.get<Dims>("symbols"));
}

// The common part of both rows. The attribute has the values of the symbols that the op depends on.
Op row_named(const std::string& name, std::size_t outputs) {
  constexpr std::string_view kNoRule = "a kernel is made from a graph that is differentiated already";
  static const std::string kParameters = "(inputs: tensors, *, symbols: ints)";
  static const Signature kLike = Signature::parse("kernel" + kParameters);
  Signature signature = kLike;
  signature.name = name;
  signature.text = name + kParameters;
  return {.signature = std::move(signature),
          .family = "kernel",
          .documentation = "Several ops of one graph as one compiled kernel.",
          .example = "",
          .infer = infer_kernel,
          .call = run_kernel,
          .vjp = Rule<VjpFn>::none(kNoRule),
          .jvp = Rule<JvpFn>::none(kNoRule),
          .batch = Rule<BatchFn>::none(kNoRule),
          .lowering = Lowering::Library,
          .outputs = static_cast<int>(outputs)};
}

}  // namespace

std::shared_ptr<const Op> make_group_op(std::shared_ptr<const Grouping> grouping, std::size_t number,
                                        std::vector<std::string> symbols) {
  const Group& group = grouping->fusion.groups[number];
  Op row = row_named("group_" + std::to_string(number), group.outputs.size());
  row.infer = infer_group;
  row.call = run_group;
  for (const int place : group.nodes) {
    const Node& node = grouping->source.nodes[static_cast<std::size_t>(place)];
    if (!node.is_constant()) row.effects |= node.op->effects;
  }
  return std::make_shared<const GroupOp>(row, std::move(grouping), number, std::move(symbols));
}

const GroupOp* as_group(const Op& op) {
  return op.call == run_group ? static_cast<const GroupOp*>(&op) : nullptr;
}

std::shared_ptr<const Op> make_kernel_op(KernelParts parts, KernelOp::Origin origin) {
  const Lowered& lowered = parts.kernel.lowered;
  Op row = row_named(lowered.passes[0].name, lowered.outputs.size());
  for (const LoopNest& pass : lowered.passes) {
    for (const Instruction& each : pass.body) {
      if (each.failure >= 0) row.effects |= kMayFail;
    }
    for (const Load& each : pass.loads) {
      if (each.drawn != nullptr) row.effects |= kDraws;
      if (each.gather != nullptr) row.effects |= each.gather->effects;
    }
  }
  auto kernel = origin.group().target->launch(std::move(parts));
  return std::make_shared<const KernelOp>(row, std::move(kernel), std::move(origin));
}

const KernelOp* as_kernel(const Op& op) {
  return op.call == run_kernel ? static_cast<const KernelOp*>(&op) : nullptr;
}

void refuse_without_code(const Graph& graph) {
  for (const auto& each : graph.own_ops) {
    const KernelOp* const kernel = as_kernel(*each);
    if (as_group(*each) != nullptr || (kernel != nullptr && !kernel->has_code())) refuse(each->name());
  }
}

std::vector<FusedKernel> kernels_of(const Graph& fused) {
  std::vector<FusedKernel> kernels;
  for (const auto& each : fused.own_ops) {
    const KernelOp* const op = as_kernel(*each);
    if (op == nullptr) continue;
    const Group& group = op->origin.group();
    const Kernel& kernel = *op->kernel;
    kernels.push_back({op, group.target, &kernel.lowered(), &kernel.schedule(), &op->origin.grouping->source,
                       group.nodes, group.outputs, kernel.parts().code.get()});
  }
  return kernels;
}

std::vector<const Target*> targets_of(const Graph& fused) {
  std::vector<const Target*> targets;
  for (const FusedKernel& each : kernels_of(fused)) {
    if (std::find(targets.begin(), targets.end(), each.target) == targets.end())
      targets.push_back(each.target);
  }
  return targets;
}

std::vector<KernelNotes> kernel_notes(const Graph& fused) {
  std::vector<KernelNotes> notes;
  for (const FusedKernel& each : kernels_of(fused)) {
    KernelNotes& made = notes.emplace_back();
    made.loads.resize(each.lowered->passes.size());
    made.stores.resize(each.lowered->passes.size());
  }
  for (const Target* const each : targets_of(fused)) each->note(fused, notes);
  return notes;
}

}  // namespace kiln::jit
