#include "jit/graph/rewrite.h"

#include <algorithm>
#include <numeric>

#include "jit/graph/custom.h"
#include "jit/shape_rules.h"
#include "tensor/functions.h"

namespace kiln::jit {

std::string fresh_name(TakenNames& taken, const std::string& name) {
  if (name.empty()) return name;
  const auto [at, is_new] = taken.try_emplace(name, 1);
  if (is_new) return name;
  for (int& next = at->second;;) {
    std::string numbered = name + "_" + std::to_string(next++);
    if (taken.try_emplace(numbered, 1).second) return numbered;
  }
}

void keep_op(Graph& graph, const Node& node) {
  const std::shared_ptr<const Op> owner = node.is_constant() ? nullptr : owner_of(*node.op);
  std::vector<std::shared_ptr<const Op>>& kept = graph.own_ops;
  if (owner && std::find(kept.begin(), kept.end(), owner) == kept.end()) kept.push_back(owner);
}

Graph permute_inputs(const Graph& graph, std::span<const int> order) {
  Graph made = graph;
  std::vector<ValueId> now(graph.values.size());
  std::iota(now.begin(), now.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto before = static_cast<std::size_t>(order[i]);
    made.inputs[i] = graph.inputs[before];
    made.values[i] = graph.values[before];
    now[before] = static_cast<ValueId>(i);
  }
  const auto renumber = [&now](ValueId& id) {
    if (id >= 0) id = now[static_cast<std::size_t>(id)];
  };
  for (Node& node : made.nodes) {
    for (Operand& each : node.operands) renumber(each.value);
  }
  for (Operand& each : made.outputs) renumber(each.value);
  for (ValueId& each : made.saved) renumber(each);
  for (Effect& each : made.effects) {
    renumber(each.input);
    renumber(each.value);
  }
  return made;
}

bool is_in_order(const Graph& graph) {
  auto next = static_cast<ValueId>(graph.inputs.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != next++) return false;
    }
  }
  return next == static_cast<ValueId>(graph.values.size());
}

Builder::Builder(Graph header) : graph(std::move(header)) {
  for (const Value& value : graph.values) names_.try_emplace(value.name, 1);
}

std::string name_after(std::string_view op) {
  std::string name(op);
  std::replace(name.begin(), name.end(), '.', '_');  // of a further form: max.dim
  return name;
}

std::string Builder::fresh_after(const Node& node) {
  return fresh(node.is_constant() ? "constant" : name_after(node.op->name()));
}

ValueId Builder::input(std::string name, Type type, Input input) {
  if (!graph.nodes.empty()) throw InternalError("an input comes after a node");
  graph.inputs.push_back(std::move(input));
  graph.values.push_back({fresh_name(names_, name), std::move(type)});
  return static_cast<ValueId>(graph.values.size()) - 1;
}

std::vector<ValueId> Builder::append(Node node, std::span<const std::string> names) {
  Inferred inferred = infer_types(graph, node);
  add_size_guards(graph.size_guards, inferred.guards);
  return append(std::move(node), std::move(inferred.types), names);
}

std::vector<ValueId> Builder::append(Node node, std::vector<Type> types, std::span<const std::string> names) {
  node.outputs.clear();
  for (std::size_t k = 0; k < types.size(); ++k) {
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back({fresh_name(names_, k < names.size() ? names[k] : ""), std::move(types[k])});
  }
  graph.nodes.push_back(std::move(node));
  keep_op(graph, graph.nodes.back());
  return graph.nodes.back().outputs;
}

ValueId Builder::constant(Tensor tensor, std::string name) {
  Node node;
  node.constant = ops::contiguous(tensor);
  return append(std::move(node), std::span(&name, 1))[0];
}

std::vector<ValueId> Builder::apply(const Op& op, std::vector<Operand> operands, std::vector<Attr> attrs,
                                    const Node& like, std::string name) {
  Node node;
  node.op = &op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.place = like.place;
  node.origin = like.origin;
  return append(std::move(node), std::span(&name, 1));
}

namespace {

Graph header_of(const Graph& source) {
  Graph header;
  header.stage = source.stage;
  header.name = source.name;
  header.fast_math = source.fast_math;
  header.hints = source.hints;
  header.inputs = source.inputs;
  header.guards = source.guards;
  header.notes = source.notes;
  header.size_guards = source.size_guards;
  header.own_ops = source.own_ops;
  header.values.assign(source.values.begin(),
                       source.values.begin() + static_cast<std::ptrdiff_t>(source.inputs.size()));
  return header;
}

}  // namespace

Rewriter::Rewriter(const Graph& source) : Builder(header_of(source)), source_(source) {
  map_.assign(source.values.size(), Operand::kAbsent);
  for (std::size_t i = 0; i < source.inputs.size(); ++i) map_[i] = static_cast<ValueId>(i);
  graph.values.reserve(source.values.size());
  graph.nodes.reserve(source.nodes.size());
}

Node Rewriter::mapped(const Node& node) const {
  Node copy = node;
  copy.outputs.clear();
  for (Operand& each : copy.operands) each = at(each);
  return copy;
}

void Rewriter::copy(const Node& node) {
  Node made = mapped(node);
  for (const ValueId id : node.outputs) {
    const Value& value = source_.values[static_cast<std::size_t>(id)];
    map(id, static_cast<ValueId>(graph.values.size()));
    made.outputs.push_back(at(id));
    graph.values.push_back({fresh(value.name), value.type});
  }
  keep_op(graph, made);
  graph.nodes.push_back(std::move(made));
}

Graph Rewriter::finish() {
  for (const Operand& each : source_.outputs) graph.outputs.push_back(at(each));
  graph.saved_sizes = source_.saved_sizes;
  for (const ValueId id : source_.saved) graph.saved.push_back(at(id));
  for (Effect effect : source_.effects) {
    effect.input = at(effect.input);
    effect.value = at(effect.value);
    graph.effects.push_back(std::move(effect));
  }
  return std::move(graph);
}

}  // namespace kiln::jit
