// Owns building graphs: what a pass copies nodes with, and what capture appends them to.
#pragma once

#include <initializer_list>
#include <unordered_map>

#include "jit/graph/graph.h"

namespace kiln::jit {

// For what an op gives: "max_dim" after "max.dim".
std::string name_after(std::string_view op);
// Names that are taken, each with the number to try behind it next.
using TakenNames = std::unordered_map<std::string, int>;
// `name`, or with a number behind it, so that it is none of those taken; it is taken then. Empty stays empty.
std::string fresh_name(TakenNames& taken, const std::string& name);

// The graph owns the op of its node, if that is of no table.
void keep_op(Graph& graph, const Node& node);

// The graph with its inputs in another order: input i is the one that was `order[i]`. It has no bases.
Graph permute_inputs(const Graph& graph, std::span<const int> order);

// Are values numbered as they are made? Then a copy of all nodes, one by one, is the same graph.
bool is_in_order(const Graph& graph);

// Appends values and nodes in order; keeps names apart; types come from the rules.
class Builder {
 public:
  Builder() = default;
  explicit Builder(Graph header);  // its values must be those of its inputs

  // Inputs come before all nodes.
  ValueId input(std::string name, Type type, Input input = {});
  // The node's outputs are made here. Throws what the shape rule throws. `names` are the user's for the
  // results, as far as known.
  std::vector<ValueId> append(Node node, std::span<const std::string> names = {});
  // Likewise, with types known already.
  std::vector<ValueId> append(Node node, std::vector<Type> types, std::span<const std::string> names = {});
  ValueId constant(Tensor tensor, std::string name = {});
  // A node of `op` with the place and origin of `like`.
  std::vector<ValueId> apply(const Op& op, std::vector<Operand> operands, std::vector<Attr> attrs,
                             const Node& like, std::string name = {});

  // The name, with a number when there is one like it.
  std::string fresh(const std::string& name) { return fresh_name(names_, name); }
  // Likewise, after the op: for a result that has none.
  std::string fresh_after(const Node& node);
  const Type& type(ValueId id) const { return graph.values[static_cast<std::size_t>(id)].type; }

  Graph graph;

 private:
  TakenNames names_;
};

// Copies a graph node by node: a pass decides for each what comes in its place.
class Rewriter : public Builder {
 public:
  explicit Rewriter(const Graph& source);

  const Graph& source() const { return source_; }
  ValueId at(ValueId old) const { return map_[static_cast<std::size_t>(old)]; }
  Operand at(Operand old) const { return old.is_value() ? Operand::of(at(old.value)) : old; }
  void map(ValueId old, ValueId now) { map_[static_cast<std::size_t>(old)] = now; }
  void copy(const Node& node);
  // The node with its operands mapped and no outputs.
  Node mapped(const Node& node) const;
  // Outputs, saved values and effects, mapped.
  Graph finish();

 private:
  const Graph& source_;
  std::vector<ValueId> map_;
};

}  // namespace kiln::jit
