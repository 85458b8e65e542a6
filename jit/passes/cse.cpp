// After decomposition, whose bodies repeat each other's steps.
#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "jit/graph/custom.h"
#include "jit/graph/rewrite.h"
#include "jit/passes/passes.h"

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

// What backward does once more within a checkpoint stays apart from the first time: kept it shall not be.
bool runs_again(const Node& node) { return node.place.in_checkpoint && !node.origin.empty(); }

// Nodes that were met, by what they compute: of operands counts what they became.
class Met {
 public:
  explicit Met(const Graph& graph) : graph_(graph), instead_(graph.values.size()) {
    std::iota(instead_.begin(), instead_.end(), 0);
  }
  struct Seen {
    const Node* node;
    bool apart;
  };
  // The first that computes the same, which may be the node itself.
  Seen& first_like(const Node& node, bool apart) {
    const std::size_t key = hash(node);
    const auto [begin, end] = seen_.equal_range(key);
    const auto found =
        std::find_if(begin, end, [&](const auto& each) { return computes_same(*each.second.node, node); });
    return found != end ? found->second : seen_.emplace(key, Seen{&node, apart})->second;
  }
  void replace(ValueId id, ValueId by) { instead_[static_cast<std::size_t>(id)] = now(by); }
  ValueId now(ValueId id) const { return id < 0 ? id : instead_[static_cast<std::size_t>(id)]; }

 private:
  static bool commutes(const Node& node) {
    return node.op->has(kCommutative) && node.operands.size() == 2 && node.operands[0].is_value() &&
           node.operands[1].is_value();
  }
  const Type& type(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].type; }

  static std::size_t mixed(std::size_t hash, std::size_t item) {
    hash = (hash ^ item) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 29);
  }
  static std::size_t hash(const Number& number) {
    const auto* size = std::get_if<Dim>(&number);
    const auto* real = std::get_if<double>(&number);
    return size != nullptr ? size->hash() : real != nullptr ? std::bit_cast<std::size_t>(*real) : 0;
  }
  static std::size_t hash(const Attr& attr) {
    const auto* size = std::get_if<Dim>(&attr);
    if (size != nullptr) return size->hash();
    std::size_t all = attr.index();
    if (const auto* sizes = std::get_if<Dims>(&attr)) {
      for (const Dim each : *sizes) all = mixed(all, each.hash());
    }
    return all;
  }
  std::size_t hash(const Node& node) const {
    std::size_t all = std::hash<std::string_view>()(node.op->name()), operands = 0;
    for (const Operand& each : node.operands) {
      std::size_t one = mixed(1, static_cast<std::size_t>(now(each.value)));
      if (each.is_number()) one = mixed(one, hash(each.number));
      operands = commutes(node) ? operands + one : mixed(operands, one);
    }
    for (const Attr& each : node.attrs) all = mixed(all, hash(each));
    return mixed(all, operands);
  }
  bool same_operand(const Operand& a, const Operand& b) const {
    return now(a.value) == now(b.value) && (!a.is_number() || same_number(a.number, b.number));
  }
  bool computes_same(const Node& a, const Node& b) const {
    if (!same_op(a.op, b.op) || a.form != b.form || a.outputs.size() != b.outputs.size()) return false;
    if (runs_again(a) != runs_again(b)) return false;
    const auto same = [this](const Operand& x, const Operand& y) { return same_operand(x, y); };
    const bool same_operands =
        std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(), same) ||
        (commutes(a) && commutes(b) && same(a.operands[0], b.operands[1]) &&
         same(a.operands[1], b.operands[0]));
    return same_operands && same_attrs(a.attrs, b.attrs) &&
           std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                      [this](ValueId x, ValueId y) { return type(x) == type(y); });
  }

  const Graph& graph_;
  std::vector<ValueId> instead_;
  std::unordered_multimap<std::size_t, Seen> seen_;
};

// A node comes from all that it stands for.
void join_lineages(Graph& graph, const std::vector<const Node*>& like) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (like[i] == nullptr) continue;
    Lineage& lineage = graph.nodes[static_cast<std::size_t>(like[i] - graph.nodes.data())].place.lineage;
    lineage = Lineage::joined(lineage, graph.nodes[i].place.lineage);
  }
}

}  // namespace

Graph cse(Graph graph) {
  if (graph.stage == Stage::Captured) return graph;  // a value may be written between two reads
  const Apart stays_apart(graph);
  Met met(graph);
  std::vector<const Node*> like(graph.nodes.size(), nullptr);  // what stands for a node
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.is_constant() || node.op->is_ordered()) continue;
    const bool apart = stays_apart(node);
    Met::Seen& before = met.first_like(node, apart);
    if (before.node == &node || (apart && before.apart)) continue;
    before.apart = before.apart || apart;
    like[i] = before.node;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      met.replace(node.outputs[k], before.node->outputs[k]);
  }
  const bool none = std::all_of(like.begin(), like.end(), [](const Node* each) { return each == nullptr; });
  if (none && is_in_order(graph)) return graph;
  join_lineages(graph, like);
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (like[i] == nullptr) {
      rewriter.copy(node);
      continue;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      rewriter.map(node.outputs[k], rewriter.at(like[i]->outputs[k]));
  }
  return rewriter.finish();
}

}  // namespace kiln::jit
