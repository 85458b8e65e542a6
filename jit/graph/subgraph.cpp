#include "jit/graph/subgraph.h"

#include <algorithm>
#include <set>

#include "jit/shape_rules.h"
#include "tensor/error.h"
#include "tensor/integers.h"

namespace kiln::jit {
namespace {

// In order, but nodes of `again` come when they are first read: their operands take less memory until then.
std::vector<std::size_t> order_of(const Graph& graph, const std::vector<bool>& nodes,
                                  const std::vector<bool>& again) {
  const std::vector<int> producers = graph.producers();
  std::vector<std::size_t> order, path;
  std::vector<bool> placed(nodes.size(), false);
  // The next node that must come before this one; itself when there is none.
  const auto before = [&](std::size_t n) {
    for (const Operand& each : graph.nodes[n].operands) {
      const int from = each.is_value() ? producers[as_index(each.value)] : -1;
      if (from < 0) continue;
      const auto made = static_cast<std::size_t>(from);
      if (nodes[made] && again[made] && !placed[made]) return made;
    }
    return n;
  };
  const auto place = [&](std::size_t last) {
    for (path.push_back(last); !path.empty();) {
      const std::size_t n = path.back(), first = before(n);
      if (first != n) {
        path.push_back(first);
        continue;
      }
      placed[n] = true;
      order.push_back(n);
      path.pop_back();
    }
  };
  for (const bool late : {false, true}) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n] && !placed[n] && (late || !again[n])) place(n);
    }
  }
  return order;
}

}  // namespace

SubgraphBuilder::SubgraphBuilder(const Graph& source, Stage stage)
    : source_(source), now_(source.values.size(), Operand::kAbsent) {
  graph.stage = stage;
  graph.name = source.name;
  graph.fast_math = source.fast_math;
}

void SubgraphBuilder::take_input(ValueId id, Input as, Type type) {
  now_[as_index(id)] = input(source_.values[as_index(id)].name, std::move(type), std::move(as));
}

Operand SubgraphBuilder::now(const Operand& operand) const {
  if (!operand.is_value()) return operand;
  if (!has(operand.value)) {
    throw InternalError("graph " + source_.name + ": " + value_names(source_)[as_index(operand.value)] +
                        " is asked for in a part that does not have it");
  }
  return Operand::of(now(operand.value));
}

void SubgraphBuilder::copy(const Node& node) {
  Node made = node;
  for (Operand& each : made.operands) each = now(each);
  std::vector<Type> types;
  std::vector<std::string> names;
  for (const ValueId id : node.outputs) {
    types.push_back(source_.values[as_index(id)].type);
    names.push_back(source_.values[as_index(id)].name);
  }
  const std::vector<ValueId> results = append(std::move(made), std::move(types), names);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!has(node.outputs[k])) now_[as_index(node.outputs[k])] = results[k];
  }
}

std::vector<bool> nodes_for(const Graph& graph, std::vector<bool> needed, const std::vector<bool>& known,
                            std::vector<bool> nodes) {
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const ValueId id : node.outputs) {
      if (needed[as_index(id)] && !known[as_index(id)]) nodes[n] = true;
    }
    if (!nodes[n]) continue;
    for (const Operand& each : node.operands) {
      if (each.is_value()) needed[as_index(each.value)] = true;
    }
  }
  return nodes;
}

std::vector<bool> read_by(const Graph& graph, const std::vector<bool>& nodes,
                          std::span<const Operand> outputs) {
  std::vector<bool> read(graph.values.size(), false);
  const auto note = [&read](const Operand& each) {
    if (each.is_value()) read[as_index(each.value)] = true;
  };
  std::for_each(outputs.begin(), outputs.end(), note);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n]) std::for_each(graph.nodes[n].operands.begin(), graph.nodes[n].operands.end(), note);
  }
  return read;
}

Subgraph take_subgraph(const Graph& source, Stage stage, std::span<const SubgraphInput> inputs,
                       const std::vector<bool>& nodes, const std::vector<bool>& again,
                       std::span<const Operand> outputs) {
  std::set<std::string> all, shown;
  for (const SubgraphInput& each : inputs) {
    collect_symbols(each.type.sizes, all);
    for (const Dim size : each.type.sizes) shown.insert(size.text());
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n]) all.merge(symbols_of(source, source.nodes[n]));
  }
  SubgraphBuilder builder(source, stage);
  Subgraph result;
  std::set_difference(all.begin(), all.end(), shown.begin(), shown.end(), std::back_inserter(result.sizes));
  for (const std::string& each : all) builder.graph.hints[each] = source.hints.at(each);
  Input number;
  number.role = Role::Saved;
  for (const std::string& each : result.sizes) {
    builder.input(each, Type{DType::I64, Device{}, {}, true, std::nullopt}, number);
  }
  for (const SubgraphInput& each : inputs) builder.take_input(each.id, each.as, each.type);
  for (const std::size_t n : order_of(source, nodes, again)) {
    Node node = source.nodes[n];
    if (again[n] && !node.outputs.empty()) node.origin = source.values[as_index(node.outputs[0])].name;
    builder.copy(node);
  }
  for (const Operand& each : outputs) builder.graph.outputs.push_back(builder.now(each));
  result.graph = std::move(builder.graph);
  return result;
}

}  // namespace kiln::jit
