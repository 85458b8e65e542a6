#include "jit/graph/product_before.h"

#include <algorithm>

namespace kiln::jit {

ProductsBefore::ProductsBefore(const Graph& graph) : graph_(graph), uses_(graph.values.size(), 0) {
  for (const Node& node : graph.nodes) use(node.operands);
  use(graph.outputs);
  for (const ValueId id : graph.saved) use(id);
  for (const Effect& each : graph.effects) use(each.value);
}

void ProductsBefore::use(const std::vector<Operand>& operands) {
  for (const Operand& each : operands) {
    if (each.is_value()) use(each.value);
  }
}

int ProductsBefore::of(int place) const {
  const auto node = [this](int at) -> const Node& { return graph_.nodes[static_cast<std::size_t>(at)]; };
  const auto type_of = [this](ValueId id) -> const Type& {
    return graph_.values[static_cast<std::size_t>(id)].type;
  };
  int before = place - 1;
  while (before >= 0 && node(before).is_view()) --before;
  if (before < 0 || node(before).is_constant() || node(before).form != Form::Plain ||
      node(before).op->lowering.as<lowering::Library>() == nullptr)
    return -1;
  const ValueId made = node(before).outputs[0];
  const Type& type = type_of(made);
  const std::vector<Operand>& operands = node(place).operands;
  const bool fits = uses_[static_cast<std::size_t>(made)] == 1 &&
                    (type.dtype == DType::F32 || type.dtype == DType::F64) &&
                    same(type.sizes, type_of(node(place).outputs[0]).sizes) &&
                    std::count(operands.begin(), operands.end(), Operand::of(made)) == 1;
  return fits ? before : -1;
}

}  // namespace kiln::jit
