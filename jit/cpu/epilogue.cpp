#include "jit/cpu/epilogue.h"

#include <algorithm>

namespace kiln::jit {

std::vector<int> find_epilogues(const Graph& graph, const TailKernels& late) {
  std::vector<int> uses(graph.values.size(), 0);
  const auto use = [&uses](ValueId id) { ++uses[static_cast<std::size_t>(id)]; };
  for (const Node& node : graph.nodes) {
    for (const Operand& each : node.operands) {
      if (each.is_value()) use(each.value);
    }
  }
  for (const Operand& each : graph.outputs) {
    if (each.is_value()) use(each.value);
  }
  for (const ValueId id : graph.saved) use(id);
  for (const Effect& each : graph.effects) use(each.value);

  const auto type_of = [&graph](ValueId id) -> const Type& {
    return graph.values[static_cast<std::size_t>(id)].type;
  };
  const auto is_product_for = [&](const Node& node, const Node& kernel) {
    if (node.is_constant() || node.form != Form::Plain ||
        node.op->lowering.as<lowering::Library>() == nullptr)
      return false;
    const ValueId made = node.outputs[0];
    const Type& type = type_of(made);
    return uses[static_cast<std::size_t>(made)] == 1 &&
           (type.dtype == DType::F32 || type.dtype == DType::F64) &&
           type.sizes == type_of(kernel.outputs[0]).sizes &&
           std::count(kernel.operands.begin(), kernel.operands.end(), Operand::of(made)) == 1;
  };
  std::vector<int> products(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.is_constant() || late.kernels[i] != nullptr) continue;
    const ElementwiseKernel* const kernel = elementwise_kernel_of(*node.op);
    if (kernel == nullptr || !kernel->is_plain() || !kernel->computes_all()) continue;
    // Only views lie between: the product does not keep its operands for long.
    std::size_t before = i;
    while (before > 0 && graph.nodes[before - 1].is_view()) --before;
    if (before > 0 && is_product_for(graph.nodes[before - 1], node))
      products[i] = static_cast<int>(before) - 1;
  }
  return products;
}

void Epilogue::begin(const Tensor& product) {
  operands_[made_] = product;
  results_ = Tensors(kernel_.lowered().outputs.size());
  const auto fits = std::find_if(kernel_.lowered().outputs.begin(), kernel_.lowered().outputs.end(),
                                 [&](const KernelOutput& each) { return each.dtype == product.dtype(); });
  if (fits != kernel_.lowered().outputs.end())
    results_[static_cast<std::size_t>(fits - kernel_.lowered().outputs.begin())] = product;
  if (kernel_.reads_in_order(operands_, symbols_, made_))
    ready_.emplace(kernel_.prepare(operands_, symbols_, {results_.data(), results_.size()}));
}

void Epilogue::piece(std::int64_t begin, std::int64_t end) {
  if (ready_) ready_->run.piece(begin, end);
}

Tensors Epilogue::results() {
  if (!operands_[made_]) throw InternalError("a product was not handed out");
  return ready_ ? std::move(results_) : kernel_.run(operands_, symbols_);
}

}  // namespace kiln::jit
