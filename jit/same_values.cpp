#include "jit/same_values.h"

#include <algorithm>

namespace kiln::jit {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

// The node over values of the other graph; false: one of its operands is not there.
bool map_operands(Node& node, const std::vector<ValueId>& same) {
  for (Operand& each : node.operands) {
    if (!each.is_value()) continue;
    each = Operand::of(same[at(each.value)]);
    if (!each.is_value()) return false;
  }
  return true;
}

// Two draws are two values.
bool may_be_same(const Node& node) {
  return node.is_constant() || (!node.outputs.empty() && !node.writes() && !node.op->has(kRandom));
}

}  // namespace

std::vector<ValueId> same_values(const Graph& from, const Graph& to, std::vector<ValueId> same) {
  for (const Node& node : to.nodes) {
    if (!may_be_same(node) || same[at(node.outputs[0])] >= 0) continue;
    Node mapped = node;
    if (!map_operands(mapped, same)) continue;
    const auto found = std::find_if(from.nodes.begin(), from.nodes.end(), [&](const Node& other) {
      if (other.op != mapped.op || other.operands != mapped.operands) return false;
      mapped.outputs = other.outputs;  // what a node computes does not depend on these
      mapped.place = other.place;
      mapped.origin = other.origin;
      return mapped == other;
    });
    if (found == from.nodes.end()) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) same[at(node.outputs[k])] = found->outputs[k];
  }
  return same;
}

}  // namespace kiln::jit
