// Graphs in the language: what they tell of themselves, reading them from text, running them.
#include <fmt/format.h>

#include "interpreter/host/graph_edits.h"
#include "interpreter/host/graph_source.h"
#include "interpreter/host/record.h"
#include "interpreter/host/source_weights.h"
#include "interpreter/text/print_tensor.h"
#include "interpreter/values/graph_value.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "jit/graph/custom.h"
#include "jit/graph/dot.h"
#include "jit/graph/evaluate.h"
#include "jit/graph/text.h"
#include "jit/graph/verify.h"
#include "jit/pipeline/fused_text.h"
#include "tensor/levels/level.h"
#include "tensor/symbolic_run.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;
using Names = std::vector<std::string>;

// ---- Sizes, attributes, operands ----

// A size that is a symbol stays one: its text, and what it was when the graph was made.
Value size_value(Dim size, const SymbolValues& hints) {
  if (size.is_known()) return size.known();
  static const Value* const type = new Value(
      record_type("Size", "A size of a graph that is a symbol, and what it was.", {"text", "hint"}));
  return make_record(*type, {Value(size.text()), Value(evaluate(size, hints))});
}

Value sizes_value(const Dims& sizes, const SymbolValues& hints) {
  std::vector<Value> items;
  for (const Dim size : sizes) items.push_back(size_value(size, hints));
  return list_value(std::move(items));
}

Value attr_value(const Attr& attr, const SymbolValues& hints) {
  return std::visit(
      [&hints](const auto& value) -> Value {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, Dim>) {
          return size_value(value, hints);
        } else if constexpr (std::is_same_v<T, Dims>) {
          return sizes_value(value, hints);
        } else {
          return Value(value);
        }
      },
      attr);
}

Value operand_value(const jit::Operand& operand, const jit::Graph& graph, const Names& names) {
  if (operand.is_value()) return Value(names[static_cast<std::size_t>(operand.value)]);
  if (!operand.is_number()) return {};
  return std::visit(
      [&graph](const auto& number) -> Value {
        if constexpr (std::is_same_v<std::decay_t<decltype(number)>, Dim>) {
          return size_value(number, graph.hints);
        } else {
          return Value(number);
        }
      },
      operand.number);
}

Value operand_values(const std::vector<jit::Operand>& operands, const jit::Graph& graph, const Names& names) {
  std::vector<Value> items;
  for (const jit::Operand& each : operands) items.push_back(operand_value(each, graph, names));
  return list_value(std::move(items));
}

Names names_of(const std::vector<jit::ValueId>& ids, const Names& names) {
  Names found;
  for (const jit::ValueId id : ids) found.push_back(names[static_cast<std::size_t>(id)]);
  return found;
}

// ---- Nodes ----

Value attrs_value(const jit::Node& node, const SymbolValues& hints) {
  Value attrs = make<Dict>();
  if (node.is_constant()) {
    attrs.as<Dict>().set("value", Value(node.constant));
    return attrs;
  }
  std::size_t index = 0;
  for (const kiln::Parameter& parameter : node.op->signature.parameters) {
    if (parameter.kind <= ArgKind::OptionalTensorList) continue;
    attrs.as<Dict>().set(Value(parameter.name), attr_value(node.attrs[index++], hints));
  }
  return attrs;
}

const Value& node_type() {
  static const Value* const type = new Value(record_type(
      "Node",
      "A node of a graph: the op, the user's name for its first result, what it is applied to (names of "
      "values, numbers, none), attributes by name, the type of its result, its place in the program, the "
      "forward node that it is the gradient of. `outputs` and `types` are of all results.",
      {"op", "name", "inputs", "attrs", "type", "line", "origin", "file", "column", "outputs", "types",
       "text"}));
  return *type;
}

Value node_value(const jit::Graph& graph, const jit::Node& node, const Names& names, const Names& marked) {
  const Names outputs = names_of(node.outputs, names);
  Names types;
  for (const jit::ValueId id : node.outputs) {
    types.push_back(jit::to_string(graph.values[static_cast<std::size_t>(id)].type));
  }
  const bool placed = !node.place.file.empty();
  return make_record(node_type(), {
                                      Value(jit::op_text(node)),
                                      outputs.empty() ? Value() : Value(outputs[0]),
                                      operand_values(node.operands, graph, names),
                                      attrs_value(node, graph.hints),
                                      types.empty() ? Value() : Value(types[0]),
                                      placed ? Value(node.place.line) : Value(),
                                      node.origin.empty() ? Value() : Value(node.origin),
                                      placed ? Value(node.place.file.get()) : Value(),
                                      placed ? Value(node.place.column) : Value(),
                                      list_of_texts(outputs),
                                      list_of_texts(types),
                                      Value(jit::print_node(graph, node, marked)),
                                  });
}

}  // namespace

Value node_record(const jit::Graph& graph, std::size_t node) {
  return node_value(graph, graph.nodes[node], names_in_text(graph), jit::value_names(graph));
}

namespace {

Value nodes(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  const Names names = names_in_text(graph), marked = jit::value_names(graph);
  std::vector<Value> items;
  for (const jit::Node& node : graph.nodes) items.push_back(node_value(graph, node, names, marked));
  return list_value(std::move(items));
}

Value ops(Interpreter&, Args a) {
  Names names;
  for (const jit::Node& node : graph_of(a[0]).nodes) names.push_back(jit::op_text(node));
  return list_of_texts(names);
}

// ---- What goes in and comes out ----

Value inputs(Interpreter&, Args a) {
  static const Value* const type = new Value(record_type(
      "Input",
      "An input of a graph: its name, its type, and what it is: argument, captured, parameter, saved, grad, "
      "or base, the memory that several arguments share.",
      {"name", "type", "role", "text"}));
  const jit::Graph& graph = graph_of(a[0]);
  const Names names = names_in_text(graph);
  std::vector<Value> items;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string text = jit::to_string(graph.values[i].type);
    const jit::Role role = graph.inputs[i].role;
    const std::string prefix = role == jit::Role::Argument ? "" : std::string(jit::name(role)) + " ";
    items.push_back(make_record(*type, {Value(names[i]), Value(text), Value(jit::name(role)),
                                        Value(fmt::format("{}%{}: {}", prefix, names[i], text))}));
  }
  return list_value(std::move(items));
}

Value outputs(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  return operand_values(graph.outputs, graph, names_in_text(graph));
}

// What is kept for backward: a forward graph makes it, a backward graph is given it.
std::vector<jit::ValueId> saved_ids(const jit::Graph& graph) {
  std::vector<jit::ValueId> ids = graph.saved;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role == jit::Role::Saved) ids.push_back(static_cast<jit::ValueId>(i));
  }
  return ids;
}

Value saved(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  std::vector<std::string> names = graph.saved_sizes;
  for (std::string& each : names_of(saved_ids(graph), names_in_text(graph))) names.push_back(std::move(each));
  return list_of_texts(std::move(names));
}

Value saved_bytes(Interpreter&, Args a) {
  const jit::Graph& graph = graph_of(a[0]);
  auto total = static_cast<std::int64_t>(graph.saved_sizes.size() * sizeof(std::int64_t));
  for (const jit::ValueId id : saved_ids(graph)) {
    const TensorType type = jit::evaluate(graph.values[static_cast<std::size_t>(id)].type, graph.hints);
    total += count_elements(type.sizes) * static_cast<std::int64_t>(size_of(type.dtype));
  }
  return total;
}

Value epilogue(Interpreter&, Args a) {
  static const Value* const type = new Value(
      record_type("Effect",
                  "What a call of the graph still does to an argument once its nodes have run: `write` its "
                  "elements, change its `layout`, or nothing, where the value is the `same` tensor.",
                  {"kind", "target", "value", "text"}));
  const jit::Graph& graph = graph_of(a[0]);
  const Names names = names_in_text(graph);
  std::vector<Value> items;
  for (const jit::Effect& effect : graph.effects) {
    const std::string text = jit::print_effect(graph, effect);
    std::string target = names[static_cast<std::size_t>(effect.input)];
    if (effect.member >= 0) target += "." + std::to_string(effect.member);
    items.push_back(make_record(*type, {Value(text.substr(0, text.find(' '))), Value(target),
                                        Value(names[static_cast<std::size_t>(effect.value)]), Value(text)}));
  }
  return list_value(std::move(items));
}

Value guards(Interpreter&, Args a) { return list_of_texts(graph_of(a[0]).guards); }

Value symbols(Interpreter&, Args a) {
  Value symbols = make<Dict>();
  for (const auto& [symbol, hint] : graph_of(a[0]).hints) symbols.as<Dict>().set(Value(symbol), Value(hint));
  return symbols;
}

Value constants(Interpreter&, Args a) {
  std::vector<Value> found;
  for (const jit::Node& node : graph_of(a[0]).nodes) {
    if (node.is_constant()) found.emplace_back(node.constant);
  }
  return list_value(std::move(found));
}

// The tensors that calls are given beside their arguments, by the names of their inputs.
Value parameters(Interpreter&, Args a) {
  const GraphValue& value = a[0].as<GraphValue>();
  const Names names = names_in_text(value.graph);
  Value found = make<Dict>();
  for (std::size_t i = 0; i < value.bound.size(); ++i) {
    if (value.bound[i]) found.as<Dict>().set(Value(names[i]), Value(value.bound[i]));
  }
  return found;
}

Value to_source(Interpreter& interpreter, Args a) {
  return Value(graph_source(a[0].as<GraphValue>(), interpreter.prelude()));
}

Value weights(Interpreter&, Args a) {
  Value found = make<Dict>();
  for (const auto& [name, tensor] : source_weights(a[0].as<GraphValue>()))
    found.as<Dict>().set(Value(name), Value(tensor));
  return found;
}

constexpr NativeDef kGraphsMethods[] = {
    {"name", "The name of the function it is of.",
     [](Interpreter&, Args a) { return Value(graph_of(a[0]).name); }},
    {"stage", "How far it has come: captured, functional, joint, forward, backward or fused.",
     [](Interpreter&, Args a) { return Value(jit::name(graph_of(a[0]).stage)); }},
    {"nodes", "Its nodes in order, each with `op name inputs attrs type line origin`.", nodes},
    {"inputs", "Its inputs in order, each with `name type role`.", inputs},
    {"outputs", "What it returns: names of values, numbers, none.", outputs},
    {"ops(self)", "The names of its ops in order.", ops},
    {"saved", "The names of what is kept for backward.", saved},
    {"saved_bytes", "Bytes of what is kept for backward, at the sizes it was made with.", saved_bytes},
    {"epilogue",
     "What a call still does to its arguments once the nodes have run, each with `kind target value`.",
     epilogue},
    {"dot(self)", "Its picture as text for Graphviz; `:dot f(x) file.svg` draws it.",
     [](Interpreter&, Args a) { return Value(jit::dot_text(graph_of(a[0]))); }},
    {"fusion", "Which of its nodes become one kernel, and why the others do not, in words.",
     [](Interpreter&, Args a) { return Value(jit::fusion_text(graph_of(a[0]))); }},
    {"guards", "What was assumed when it was captured, in words.", guards},
    {"replace(self, node, op, operands, attrs=none)",
     "The graph in which a node computes another op: its result keeps its name, and its readers stay. `node` "
     "is one of `nodes` or a name, an operand a name, a node, a number or none, `attrs` a dict.\n"
     ">>> g = graph(x => x ** 2, ones(3))\n"
     ">>> n = g.nodes[0]\n"
     ">>> g.replace(n, \"mul\", [n.inputs[0], n.inputs[0]])(tensor([3.0])).tolist()\n"
     "[9.0]",
     replace_node},
    {"insert(self, before, op, operands, attrs=none, name=\"\")",
     "The graph with one more node, before a node or, for none, at the end: a pair of the graph and the new "
     "node. It is named after the op, or after `name`.\n"
     ">>> g = graph(exp, ones(3))\n"
     ">>> g, half = g.insert(g.nodes[0], \"mul\", [\"x\", 0.5], name=\"half\")\n"
     ">>> g.replace(g.nodes[1], \"exp\", [half]).ops()\n"
     "['mul', 'exp']",
     insert_node},
    {"erase(self, node, by=none)",
     "The graph without a node that nothing reads; or, with `by`, in which its readers read that value.\n"
     ">>> g = graph(x => (x * 1).exp(), ones(3))\n"
     ">>> g.erase(g.nodes[0], by=\"x\").ops()\n"
     "['exp']",
     erase_node},
    {"parameters",
     "The tensors that each call is given beside its arguments, by name: the weights of an imported model.",
     parameters},
    {"to_source(self)",
     "The graph as source of a function, with a parameter for each tensor that a call is given. Where the "
     "graph "
     "has tensors of its own, the function has a parameter `weights` behind them, for the dict `weights` of "
     "the "
     "graph.\n"
     ">>> print(graph(x => (x + 1).exp(), ones(3)).to_source().split(\"\\n\")[0])\n"
     "fn main(x: f32[3]) {",
     to_source},
    {"weights",
     "What the function of `to_source` is given as `weights`, by name: `parameters`, and constants that are "
     "too "
     "large to be spelled. `save` and `load` keep them.",
     weights},
    {"symbols", "Sizes that are symbols, by name, and what they were when it was made.", symbols},
    {"constants",
     "The tensors it embeds, in order. Large ones are not spelled in its text; "
     "`parse_graph(str(g), g.constants)` is g again.",
     constants},
};

// ---- Reading and running ----

Value parse_graph(Interpreter& interpreter, Args a) {
  std::vector<Tensor> known;
  if (!a[1].is_none()) {
    for (const Value& each : interpreter.to_vector(a[1])) known.push_back(tensor_argument(each, "constants"));
  }
  jit::Graph graph = jit::parse_graph(text_argument(a[0], "text"), known);
  if (const std::string fault = jit::find_fault(graph); !fault.empty()) {
    raise("ValueError", fmt::format("parse_graph: graph {} cannot be run: {}", graph.name, fault));
  }
  return make_graph(std::move(graph));
}

constexpr NativeDef kGraphsNatives[] = {
    {"parse_graph(text, constants=none)",
     "The graph of a text, as `print` shows graphs: `parse_graph(str(g)) == g`. Constants that are too large "
     "to be spelled are looked up in a list of tensors. Call the graph to run it.\n"
     ">>> parse_graph(\"graph functional f(%x: f32[2]) {\\n return %x\\n}\")(ones(2)).tolist()\n[1.0, 1.0]",
     parse_graph},
};

Tensor argument_tensor(const jit::Graph& graph, const Value& value, std::size_t index) {
  if (value.is(Tag::Tensor) || value.is_number()) return to_operand(value);
  raise("TypeError",
        fmt::format("argument {} of graph {} must be a tensor or a number, got {}", index + 1, graph.name,
                    describe(value)),
        "a graph takes the tensors of a call one by one: spread a list with `*`");
}

// An output as the function itself would give it: numbers of the host program stay numbers.
Value output_value(const jit::Graph& graph, const jit::Operand& operand, const Tensor& x) {
  const bool number =
      operand.is_number() ||
      (operand.is_value() && graph.values[static_cast<std::size_t>(operand.value)].type.is_number);
  return number ? item_of(x) : Value(x);
}

// Tells those who note the ops of this call what they cannot note.
void announce_what_is_no_op(const jit::Graph& graph) {
  if (kiln::levels::top == nullptr) return;
  if (graph.stage == jit::Stage::Fused) return kiln::levels::announce("a graph of kernels is called");
  for (const jit::Input& each : graph.inputs) {
    if (!each.members.empty())
      return kiln::levels::announce("a graph is called whose arguments share memory");
  }
  for (const Op* each : jit::custom_ops(graph)) {
    const jit::CustomFunction& function = *jit::custom_function(*each);
    if (jit::is_interpreted(function) || !function.backward)
      kiln::levels::announce("a graph is called of which the interpreter does a part");
  }
}

// What the call gives, and what the graph has by itself, in the order of its inputs.
std::vector<Tensor> arguments_of(const GraphValue& value, std::span<const Value> given) {
  std::vector<Tensor> arguments;
  std::size_t next = 0;
  for (const Tensor& bound : value.bound) {
    if (!bound && next == given.size()) break;  // the graph says what is missing
    arguments.push_back(bound ? bound : argument_tensor(value.graph, given[next], next));
    if (!bound) ++next;
  }
  for (; next < given.size(); ++next) arguments.push_back(argument_tensor(value.graph, given[next], next));
  return arguments;
}

// An imported graph that was made for other sizes than those of the call is not right.
void check_guards(const jit::Graph& graph, const SymbolValues& symbols) {
  for (const SizeGuard& each : graph.size_guards) {
    if (!holds(each, symbols))
      throw OpError(ErrorKind::Value, fmt::format("graph {} was made for other sizes: it needs {}",
                                                  graph.name, to_string(each)));
  }
}

}  // namespace

Value call_graph(Interpreter&, const Value& value, std::span<const Value> given) {
  const jit::Graph& graph = graph_of(value);
  const std::vector<Tensor> arguments = arguments_of(value.as<GraphValue>(), given);
  announce_what_is_no_op(graph);
  std::vector<Tensor> now;  // asking for the sizes of a call that is recorded would fix them
  for (const Tensor& each : arguments) now.push_back(at_hints(each));
  const SymbolValues symbols = jit::bind_symbols(graph, now);  // what it throws speaks of the arguments
  if (!value.as<GraphValue>().bound.empty()) check_guards(graph, symbols);
  Tensors results;
  try {
    results = jit::evaluate(graph, arguments);
  } catch (const OpError& error) {  // of a node, whose operands are not the call's
    throw OpError(error.kind(), error.message(), {}, error.help());
  }
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(output_value(graph, graph.outputs[i], results[i]));
  }
  if (outputs.empty()) return {};
  return outputs.size() == 1 ? outputs[0] : tuple_value(std::move(outputs));
}

std::span<const NativeDef> graph_methods() { return kGraphsMethods; }
std::span<const NativeDef> graph_natives() { return kGraphsNatives; }

}  // namespace kiln::interp
