// After decomposition, whose bodies repeat each other's steps.
#include <map>

#include "jit/passes/passes.h"
#include "jit/rewrite.h"
#include "jit/text.h"

namespace kiln::jit {
namespace {

// What the caller can get hold of stays apart, since he may write to it: values that are returned or written
// back, and all that those may be views of.
class Apart {
 public:
  explicit Apart(const Graph& graph) : returned_(graph.values.size(), false) {
    for (const Operand& each : graph.outputs) {
      if (each.is_value()) returned_[static_cast<std::size_t>(each.value)] = true;
    }
    for (const Effect& each : graph.effects) returned_[static_cast<std::size_t>(each.value)] = true;
    seen_ = returned_;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      const Node& node = graph.nodes[i];
      if (!may_view(node) || !any(seen_, node)) continue;
      for (const Operand& each : node.operands) {
        if (each.is_value()) seen_[static_cast<std::size_t>(each.value)] = true;
      }
    }
  }
  // Two views of one value alias each other anyway, so only those that are returned themselves count.
  bool operator()(const Node& node) const { return any(node.is_view() ? returned_ : seen_, node); }

 private:
  static bool may_view(const Node& node) {
    return node.is_view() || (!node.is_constant() && node.op->lowering == Lowering::Composite);
  }
  static bool any(const std::vector<bool>& marks, const Node& node) {
    for (const ValueId id : node.outputs) {
      if (marks[static_cast<std::size_t>(id)]) return true;
    }
    return false;
  }
  std::vector<bool> returned_, seen_;
};

// The same text is the same computation: operands are named by the values they became.
std::string key_of(const Rewriter& rewriter, const Node& node, std::span<const std::string> names) {
  Node mapped = rewriter.mapped(node);
  std::vector<Operand>& operands = mapped.operands;
  if (mapped.op->has(kCommutative) && operands.size() == 2 && operands[0].is_value() &&
      operands[1].is_value() && operands[1].value < operands[0].value) {
    std::swap(operands[0], operands[1]);
  }
  return print_node(rewriter.graph, mapped, names);
}

}  // namespace

Graph cse(const Graph& graph) {
  if (graph.stage == Stage::Captured) return graph;  // a value may be written between two reads
  const Apart stays_apart(graph);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.values.size(); ++i) names.push_back("%" + std::to_string(i));
  struct Seen {
    const Node* node;
    bool apart;
  };
  std::map<std::string, Seen> seen;
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (node.is_constant() || node.op->has(kRandom)) {
      rewriter.copy(node);
      continue;
    }
    const bool apart = stays_apart(node);
    const auto [found, is_new] = seen.try_emplace(key_of(rewriter, node, names), Seen{&node, apart});
    Seen& before = found->second;
    if (is_new || (apart && before.apart)) {
      rewriter.copy(node);
      continue;
    }
    before.apart = before.apart || apart;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      rewriter.map(node.outputs[k], rewriter.at(before.node->outputs[k]));
    }
  }
  return rewriter.finish();
}

}  // namespace kiln::jit
