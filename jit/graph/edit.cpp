#include "jit/graph/edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/rewrite.h"
#include "jit/graph/text.h"
#include "tensor/core_ops.h"
#include "tensor/functions.h"
#include "tensor/how_many.h"

namespace kiln::jit {
namespace {

[[noreturn]] void refuse(ErrorKind kind, std::string message, std::string help = {}) {
  throw OpError(kind, std::move(message), {}, std::move(help));
}

std::string node_line(const Graph& graph, std::size_t node) {
  return print_node(graph, graph.nodes[node], value_names(graph));
}

std::string named(const Graph& graph, ValueId id) { return value_names(graph)[static_cast<std::size_t>(id)]; }

const Type& type_of(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].type;
}

// Strides are left to the ops that need them.
bool same_type(const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.device == b.device && a.is_number == b.is_number && same(a.sizes, b.sizes);
}

bool is_later(const Operand& wanted, const Operand& mapped) {
  return wanted.is_value() && !mapped.is_value();
}

// Appends a node like `like`, which says its place in the program.
std::vector<ValueId> append(Rewriter& made, const NewNode& now, const Node* like,
                            std::span<const std::string> names) {
  Node node;
  node.op = now.op;
  node.attrs = now.attrs;
  if (now.constant) node.constant = ops::contiguous(now.constant);
  if (like != nullptr) {
    node.place = like->place;
    node.origin = like->origin;
  }
  for (const Operand& each : now.operands) {
    node.operands.push_back(made.at(each));
    if (is_later(each, node.operands.back())) {
      refuse(ErrorKind::Value,
             fmt::format("{} is not computed yet where {} would read it", named(made.source(), each.value),
                         op_text(node)),
             "operands are inputs of the graph, or results of nodes before this one");
    }
  }
  return made.append(std::move(node), names);
}

std::vector<std::string> names_of(const Graph& graph, const Node& node) {
  std::vector<std::string> names;
  for (const ValueId id : node.outputs) names.push_back(graph.values[static_cast<std::size_t>(id)].name);
  return names;
}

// The lines of the nodes that read a result of the node, and what else does.
std::string readers_of(const Graph& graph, const Node& node) {
  const auto is_result = [&](ValueId id) {
    return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Operand& each : graph.nodes[i].operands) {
      if (each.is_value() && is_result(each.value)) return "read by " + node_line(graph, i);
    }
  }
  for (const Operand& each : graph.outputs) {
    if (each.is_value() && is_result(each.value)) return "returned";
  }
  for (const ValueId each : graph.saved) {
    if (is_result(each)) return "kept for backward";
  }
  for (const Effect& each : graph.effects) {
    if (is_result(each.value)) return "written: " + print_effect(graph, each);
  }
  return "";
}

}  // namespace

void check_editable(const Graph& graph) {
  if (graph.stage == Stage::Captured) {
    refuse(ErrorKind::Value,
           fmt::format("graph {} has writes: nodes are edited in graphs where every value stays as it is",
                       graph.name),
           "edit its functional stage: `graph(f, x)`, or `run_pass(g, \"functionalize\")`");
  }
  if (graph.stage == Stage::Fused) {
    refuse(ErrorKind::Value, fmt::format("graph {} consists of kernels, whose code is made", graph.name),
           "edit its functional stage, of which kernels are made: `graph(f, x)`");
  }
}

Graph with_names(const Graph& graph) {
  Graph made = graph;
  TakenNames taken;
  for (const Value& value : made.values) taken.try_emplace(value.name, 1);
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (made.values[i].name.empty()) made.values[i].name = fresh_name(taken, "input");
  }
  for (const Node& node : made.nodes) {
    for (const ValueId id : node.outputs) {
      std::string& name = made.values[static_cast<std::size_t>(id)].name;
      if (name.empty()) name = fresh_name(taken, name_after(op_text(node)));
    }
  }
  return made;
}

Graph replace_node(const Graph& graph, std::size_t node, const NewNode& now) {
  check_editable(graph);
  const Graph before = with_names(graph);
  Rewriter made(before);
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    const Node& old = before.nodes[i];
    if (i != node) {
      made.copy(old);
      continue;
    }
    const std::vector<ValueId> results = append(made, now, &old, names_of(before, old));
    if (results.size() != old.outputs.size()) {
      refuse(ErrorKind::Value,
             fmt::format("{} has {}, and {} has {}", node_line(before, i),
                         how_many(old.outputs.size(), "result"), now.op->name(), results.size()));
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Type &was = type_of(before, old.outputs[k]), &is = made.type(results[k]);
      if (!same_type(was, is)) {
        refuse(ErrorKind::Type, fmt::format("{} is {}, what replaces it is {}", named(before, old.outputs[k]),
                                            to_string(was), to_string(is)));
      }
      made.map(old.outputs[k], results[k]);
    }
  }
  return made.finish();
}

Graph insert_node(const Graph& graph, std::size_t before, const NewNode& now, const std::string& name) {
  check_editable(graph);
  const Graph old = with_names(graph);
  TakenNames taken;
  for (const Value& value : old.values) taken.try_emplace(value.name, 1);
  const std::string wanted = !name.empty() ? name : now.op ? name_after(now.op->name()) : "constant";
  Rewriter made(old);
  for (std::size_t i = 0; i <= old.nodes.size(); ++i) {
    const Node* const here = i < old.nodes.size() ? &old.nodes[i] : nullptr;
    if (i == before) {
      const std::string first = fresh_name(taken, wanted);
      append(made, now, here, std::span(&first, 1));
    }
    if (here != nullptr) made.copy(*here);
  }
  return with_names(made.finish());
}

Graph erase_node(const Graph& graph, std::size_t node, std::optional<ValueId> by) {
  check_editable(graph);
  const Graph before = with_names(graph);
  const Node& gone = before.nodes[node];
  if (must_run(before, gone)) {
    refuse(ErrorKind::Value,
           fmt::format("{} cannot be left out: it does more than give its result", node_line(before, node)));
  }
  const std::string readers = readers_of(before, gone);
  if (!by && !readers.empty()) {
    refuse(ErrorKind::Value, fmt::format("{} is still {}", node_line(before, node), readers),
           "say what its readers read instead: `erase(node, by=…)`");
  }
  Rewriter made(before);
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    if (i != node) {
      made.copy(before.nodes[i]);
      continue;
    }
    if (!by) continue;
    if (gone.outputs.size() != 1 || made.at(*by) < 0) {
      refuse(ErrorKind::Value,
             fmt::format("{} cannot stand for {}", named(before, *by), node_line(before, i)),
             "what stands for a node is one value that is computed before it");
    }
    const Type &was = type_of(before, gone.outputs[0]), &is = type_of(before, *by);
    if (!same_type(was, is)) {
      refuse(ErrorKind::Type,
             fmt::format("{} is {}, and {}, which is to stand for it, {}", named(before, gone.outputs[0]),
                         to_string(was), named(before, *by), to_string(is)));
    }
    made.map(gone.outputs[0], made.at(*by));
  }
  return made.finish();
}

}  // namespace kiln::jit
