#include "jit/graph/escape_analysis.h"

#include <numeric>

namespace kiln::jit {

bool may_share_operand(const Node& node) {
  return !node.is_constant() && node.form != Form::Copy &&
         (node.applies_view() || node.writes() || node.op->lowering == Lowering::Composite);
}

EscapeAnalysis::EscapeAnalysis(const Graph& graph)
    : callers_(graph.values.size(), false),
      parents_(graph.values.size()),
      reachable_(graph.values.size(), false) {
  std::iota(parents_.begin(), parents_.end(), 0);
  for (const Node& node : graph.nodes) {
    if (!may_share_operand(node)) continue;
    for (const ValueId result : node.outputs) {
      for (const Operand& each : node.operands) {
        if (each.is_value()) join(each.value, result);
      }
    }
  }
  const auto give = [this](ValueId id) {
    callers_[static_cast<std::size_t>(id)] = true;
    reachable_[static_cast<std::size_t>(memory(id))] = true;
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) give(static_cast<ValueId>(i));
  for (const Operand& each : graph.outputs) {
    if (each.is_value()) give(each.value);
  }
  for (const ValueId id : graph.saved) give(id);
  for (const Effect& each : graph.effects) give(each.value);
}

bool EscapeAnalysis::may_replace(ValueId id, ValueId other) const {
  if (may_share_memory(id, other)) return !(is_callers(id) && is_callers(other));
  return !(is_reachable(id) && is_reachable(other));
}

void EscapeAnalysis::replace(ValueId id, ValueId by) {
  if (is_callers(id)) callers_[static_cast<std::size_t>(by)] = true;
  join(id, by);
}

ValueId EscapeAnalysis::memory(ValueId id) const {
  while (parents_[static_cast<std::size_t>(id)] != id) {
    ValueId& parent = parents_[static_cast<std::size_t>(id)];
    parent = parents_[static_cast<std::size_t>(parent)];
    id = parent;
  }
  return id;
}

void EscapeAnalysis::join(ValueId a, ValueId b) {
  const ValueId from = memory(a), into = memory(b);
  parents_[static_cast<std::size_t>(from)] = into;
  if (reachable_[static_cast<std::size_t>(from)]) reachable_[static_cast<std::size_t>(into)] = true;
}

}  // namespace kiln::jit
