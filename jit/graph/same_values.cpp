#include "jit/graph/same_values.h"

#include <algorithm>

#include "tensor/integers.h"

namespace kiln::jit {
namespace {

// The node over other values; false: one of its operands is none of them.
bool map_operands(Node& node, const std::vector<ValueId>& same) {
  for (Operand& each : node.operands) {
    if (!each.is_value()) continue;
    each = Operand::of(same[as_index(each.value)]);
    if (!each.is_value()) return false;
  }
  return true;
}

// Two draws are two values.
bool may_be_same(const Node& node) {
  return node.is_constant() || (!node.outputs.empty() && !node.writes() && !node.op->is_ordered());
}

// What a node computes does not depend on what its results are called, or where it was written.
const Node* find_same(const std::vector<Node>& among, Node node) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Node& other) {
    if (other.op != node.op || other.operands != node.operands) return false;
    node.outputs = other.outputs;
    node.place = other.place;
    node.origin = other.origin;
    return node == other;
  });
  return found == among.end() ? nullptr : &*found;
}

// The nodes of a graph that compute something first, over values that are first.
struct Firsts {
  std::vector<Node> nodes;
  std::vector<ValueId> of;  // for every value the first that is the same
};

Firsts firsts_of(const Graph& graph) {
  Firsts firsts;
  firsts.of.resize(graph.values.size());
  for (std::size_t v = 0; v < firsts.of.size(); ++v) firsts.of[v] = static_cast<ValueId>(v);
  for (const Node& node : graph.nodes) {
    if (!may_be_same(node)) continue;
    Node mapped = node;
    map_operands(mapped, firsts.of);
    if (const Node* const first = find_same(firsts.nodes, mapped)) {
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        firsts.of[as_index(node.outputs[k])] = first->outputs[k];
    } else {
      firsts.nodes.push_back(std::move(mapped));
    }
  }
  return firsts;
}

}  // namespace

std::vector<ValueId> same_values(const Graph& from, const Graph& to, std::vector<ValueId> same) {
  const Firsts firsts = firsts_of(from);
  for (ValueId& each : same)
    if (each >= 0) each = firsts.of[as_index(each)];
  for (const Node& node : to.nodes) {
    if (!may_be_same(node) || same[as_index(node.outputs[0])] >= 0) continue;
    Node mapped = node;
    if (!map_operands(mapped, same)) continue;
    const Node* const found = find_same(firsts.nodes, mapped);
    if (found == nullptr) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) same[as_index(node.outputs[k])] = found->outputs[k];
  }
  return same;
}

}  // namespace kiln::jit
