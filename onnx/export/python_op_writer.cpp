#include <algorithm>

#include "onnx/export/python_op.h"
#include "onnx/export/scope.h"
#include "tensor/integers.h"

namespace kiln::onnx {
namespace {

using jit::CustomFunction;
using jit::Graph;
using jit::Node;
using jit::ValueId;

// What the graph reads: by value.
std::vector<bool> read_values(const Graph& graph) {
  std::vector<bool> read(graph.values.size());
  const auto see = [&read](const jit::Operand& each) {
    if (each.is_value()) read[as_index(each.value)] = true;
  };
  for (const Node& node : graph.nodes) {
    for (const jit::Operand& each : node.operands) see(each);
  }
  for (const jit::Operand& each : graph.outputs) see(each);
  for (const jit::Effect& each : graph.effects) {
    if (each.value >= 0) read[as_index(each.value)] = true;
  }
  return read;
}

// The name by which nodes of a derivative know this one.
std::string origin_of(const Graph& graph, const Node& node) {
  return jit::value_names(graph)[as_index(node.outputs[0])].substr(1);
}

// The node of the application's derivative; null where the graph has none.
const Node* backward_of(const Graph& graph, const Node& node) {
  const std::string origin = origin_of(graph, node);
  for (const Node& each : graph.nodes) {
    const CustomFunction* function = each.is_constant() ? nullptr : jit::custom_function(*each.op);
    if (function == nullptr || !function->backward_of) continue;
    if (jit::same_op(function->backward_of.get(), node.op) && each.origin == origin) return &each;
  }
  return nullptr;
}

const Node& application_of(const Graph& graph, const Node& backward) {
  const Op* op = jit::custom_function(*backward.op)->backward_of.get();
  for (const Node& each : graph.nodes) {
    if (!each.is_constant() && jit::same_op(each.op, op) && origin_of(graph, each) == backward.origin)
      return each;
  }
  throw OpError(
      ErrorKind::Capture,
      "the gradient of " + jit::custom_function(*op)->program_name +
          " is here without its forward, and a PythonOpGrad needs the context of a PythonOp: export "
          "the joint graph");
}

// By tensor argument: is its gradient made and read?
std::vector<bool> needed(const Graph& graph, const CustomFunction& function, const Node& backward) {
  const std::vector<bool> read = read_values(graph);
  std::vector<bool> needs(function.argument_count(), false);
  std::size_t next = 0;
  for (const std::size_t i : jit::custom_function(*backward.op)->gradients_of)
    needs[i] = read[as_index(backward.outputs[next++])];
  return needs;
}

PythonOpUse use_of(const Graph& graph, const CustomFunction& function, const Node& node) {
  PythonOpUse use;
  if (!node.place.file.empty()) use.comment = node.place.file.get() + ":" + std::to_string(node.place.line);
  if (const Node* backward = backward_of(graph, node)) {
    use.is_training = true;
    use.needs = needed(graph, function, *backward);
    return use;
  }
  if (graph.stage == jit::Stage::Joint) {  // nothing would free its context
    use.needs.assign(function.argument_count(), false);
    return use;
  }
  const jit::ProgramCall* call = function.program_call.get();
  for (std::size_t i = 0; call != nullptr && i < call->arguments.size(); ++i) {
    if (!call->arguments[i].value) use.needs.push_back(call->requires_grads[i]);
  }
  use.is_training = std::find(use.needs.begin(), use.needs.end(), true) != use.needs.end();
  return use;
}

OnnxValue result(Scope& scope, const Graph& graph, ValueId id, std::string like) {
  const jit::Value& value = graph.values[as_index(id)];
  return {scope.fresh(value.name.empty() ? like : value.name), value.type.dtype};
}

// What forward keeps is in the context, where backward alone finds it.
void check_kept(const Graph& graph, const Node& node, std::size_t results) {
  for (const Node& each : graph.nodes) {
    const CustomFunction* function = each.is_constant() ? nullptr : jit::custom_function(*each.op);
    if (function != nullptr && function->backward_of) continue;
    for (std::size_t k = results; k < node.outputs.size(); ++k) {
      const jit::Operand kept = jit::Operand::of(node.outputs[k]);
      if (std::find(each.operands.begin(), each.operands.end(), kept) != each.operands.end())
        throw OpError(ErrorKind::Capture, "what a function keeps for its backward is read by another node");
    }
  }
}

// The runtime's own derivative takes each input of a node for another value.
std::string input_of(Scope& scope, const NodeProto& node, const std::string& name) {
  const bool again = std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
  return again ? scope.add("Identity", {name}, {}, 1)[0] : name;
}

OnnxValues write_application(Scope& scope, const CustomFunction& function, const Graph& graph,
                             const Node& node, const OnnxValues& operands) {
  NodeProto made = python_op(function, use_of(graph, function, node));
  for (std::size_t i = 0; i < function.argument_count(); ++i)
    made.inputs.push_back(input_of(scope, made, operands[i].name));
  const auto results = made.find("output_tensor_types")->ints.size();
  check_kept(graph, node, results);
  OnnxValues given;
  for (std::size_t k = 0; k < results; ++k)
    given.push_back(result(scope, graph, node.outputs[k], function.program_name));
  const std::string context = scope.fresh(given[0].name + "_ctx");
  scope.model().contexts[origin_of(graph, node)] = context;
  made.outputs.push_back(context);
  for (const OnnxValue& each : given) made.outputs.push_back(each.name);
  made.name = scope.fresh(function.program_call->qualified_name);
  scope.add(std::move(made));
  while (given.size() < node.outputs.size())
    given.push_back({"", graph.values[as_index(node.outputs[given.size()])].type.dtype});
  return given;
}

OnnxValues write_gradient(Scope& scope, const CustomFunction& backward, const Graph& graph, const Node& node,
                          const OnnxValues& operands) {
  const Node& application = application_of(graph, node);
  const CustomFunction& function = *jit::custom_function(*application.op);
  const PythonOpUse use = use_of(graph, function, application);
  NodeProto made = python_op_grad(function, use);
  made.inputs.push_back(scope.model().contexts.at(node.origin));
  const auto results = made.find("input_tensor_types")->ints.size();
  // The last operands are the gradients of the results that have one.
  std::size_t next = operands.size();
  for (std::size_t k = 0; k < results; ++k) next -= jit::has_gradient(*application.op, k) ? 1 : 0;
  for (std::size_t k = 0; k < results; ++k)
    made.inputs.push_back(jit::has_gradient(*application.op, k) ? operands[next++].name : "");
  OnnxValues given;
  made.outputs.resize(function.argument_count());
  for (const std::size_t i : backward.gradients_of) {
    given.push_back(result(scope, graph, node.outputs[given.size()], backward.name));
    if (use.needs[i]) made.outputs[i] = given.back().name;
  }
  made.name = scope.fresh(function.program_call->qualified_name + "_Grad");
  scope.add(std::move(made));
  return given;
}

}  // namespace

OnnxValues write_python_op(Scope& scope, const CustomFunction& function, const Graph& graph, const Node& node,
                           const OnnxValues& operands) {
  return function.backward_of ? write_gradient(scope, function, graph, node, operands)
                              : write_application(scope, function, graph, node, operands);
}

}  // namespace kiln::onnx
