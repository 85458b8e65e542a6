#include "onnx/export/model_writer.h"

#include <algorithm>

#include "jit/graph/layouts.h"
#include "jit/graph/trace.h"
#include "jit/passes/run_recipe.h"
#include "jit/shape_rules.h"

namespace kiln::onnx {
namespace {

// The name of a function: "add_alpha" of "add.alpha".
std::string function_name(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

std::vector<std::string> parameter_names(const Op& op) {
  std::vector<std::string> names;
  for (const Parameter& parameter : op.signature.parameters) {
    const bool is_tensor = parameter.kind == ArgKind::Tensor || parameter.kind == ArgKind::OptionalTensor;
    if (is_tensor) names.push_back(parameter.name);
  }
  return names;
}

bool same_operands(const std::vector<jit::Operand>& a, const std::vector<jit::Operand>& b) {
  return std::ranges::equal(a, b, [](const jit::Operand& x, const jit::Operand& y) {
    return (x.is_value() && y.is_value()) || x == y;
  });
}

// The attributes of a collective that are given, as those of a node.
std::vector<AttributeProto> given_attributes(const jit::Node& node) {
  const Attrs attrs = jit::to_attrs(*node.op, node.attrs);
  std::vector<AttributeProto> result;
  for (const Parameter& parameter : node.op->signature.parameters) {
    if (parameter.kind == ArgKind::Tensor || parameter.kind == ArgKind::OptionalTensor ||
        parameter.kind == ArgKind::TensorList)
      continue;
    const std::string& name = parameter.name;
    if (const auto* whole = attrs.find<Dim>(name); whole != nullptr && whole->is_known())
      result.push_back(AttributeProto::of(name, whole->known()));
    if (const auto* real = attrs.find<double>(name))
      result.push_back(AttributeProto::of(name, static_cast<float>(*real)));
    if (const auto* text = attrs.find<std::string>(name)) result.push_back(AttributeProto::of(name, *text));
  }
  return result;
}

}  // namespace

void ModelWriter::add_note(const std::string& note) {
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

jit::Graph ModelWriter::body_of(const jit::Graph& graph, const jit::Node& node) {
  jit::Builder builder;
  builder.graph.stage = jit::Stage::Functional;
  builder.graph.name = node.op->name();
  builder.graph.hints = graph.hints;
  builder.graph.size_guards = graph.size_guards;
  jit::Node inner = node;
  inner.form = jit::Form::Plain;
  inner.place = {};
  const std::vector<std::string> names = parameter_names(*node.op);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (!node.operands[i].is_value()) continue;
    jit::Type type = jit::operand_type(graph, node.operands[i]);
    type.strides.reset();
    const std::string name = i < names.size() ? names[i] : node.op->signature.parameters[0].name;
    inner.operands[i] = jit::Operand::of(builder.input(name, std::move(type)));
  }
  const std::vector<int> producers(builder.graph.values.size(), -1);
  const std::vector<jit::TraceOperand> operands = jit::trace_operands(builder.graph, producers, inner);
  const auto run = [&inner](Inputs given) {
    const Attrs attrs = jit::to_attrs(*inner.op, inner.attrs);
    return inner.op->onnx.body != nullptr ? inner.op->onnx.body(*inner.op, given, attrs)
                                          : run_body(*inner.op, given, attrs);
  };
  const std::optional<jit::Fragment> steps = jit::trace(run, operands, graph.hints, jit::expands_nothing);
  if (!steps)
    throw OpError(ErrorKind::Capture, "what '" + std::string(node.op->name()) + "' does depends on elements");
  builder.graph.outputs = jit::inline_fragment(builder, *steps, inner.operands, inner);
  jit::add_size_guards(builder.graph.size_guards, steps->guards);
  return jit::run_recipe(jit::recipes::kNeeded, std::move(builder.graph));
}

LocalFunction ModelWriter::add_function(std::string_view domain, const std::string& name,
                                        const jit::Graph& body, std::vector<AttributeProto> attributes) {
  LocalFunction local{std::string(domain),
                      jit::fresh_name(function_names_[std::string(domain)], function_name(name)),
                      {},
                      std::move(attributes)};
  Scope scope(*this, true);
  FunctionProto function;
  OnnxValues inputs;
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const std::string& given = body.values[i].name;
    inputs.push_back({scope.fresh(given.empty() ? "x" : given), body.values[i].type.dtype});
    function.inputs.push_back(inputs.back().name);
  }
  const Scope::Written written = scope.write(body, inputs);
  for (const OnnxValue& output : written.outputs) {
    function.outputs.push_back(scope.fresh("result"));
    scope.name_result(function.outputs.back(), output);
  }
  for (const auto& [symbol, value] : scope.missing_symbols()) {
    local.symbols.push_back(symbol);
    function.inputs.push_back(value);
  }
  function.domain = local.domain;
  function.name = local.name;
  for (const AttributeProto& each : local.attributes) function.attributes.push_back(each.name);
  function.nodes = std::move(scope.nodes);
  function.opsets = {{"", options_.opset}};
  for (const NodeProto& node : function.nodes) {
    const auto names_domain = [&node](const OpsetId& each) { return each.domain == node.domain; };
    if (std::ranges::none_of(function.opsets, names_domain)) function.opsets.push_back({node.domain, 1});
  }
  model.functions.push_back(std::move(function));
  return local;
}

const LocalFunction& ModelWriter::function_of(const jit::Graph& graph, const jit::Node& node) {
  std::vector<jit::Type> types;
  for (const jit::Operand& each : node.operands) {
    types.push_back(jit::operand_type(graph, each));
    types.back().strides.reset();
  }
  for (const BodyFunction& each : bodies_) {
    if (each.node.op == node.op && each.types == types && jit::same_attrs(each.node.attrs, node.attrs) &&
        same_operands(each.node.operands, node.operands))
      return each.function;
  }
  const jit::Graph body = body_of(graph, node);
  const bool communicates = node.op->communicates();
  LocalFunction function =
      add_function(communicates ? kDistDomain : kOpsDomain, std::string(node.op->name()), body,
                   communicates ? given_attributes(node) : std::vector<AttributeProto>{});
  return bodies_.emplace_back(BodyFunction{node, std::move(types), std::move(function)}).function;
}

OnnxValues ModelWriter::call(Scope& scope, const LocalFunction& function, const OnnxValues& operands,
                             std::span<const TensorType> types) {
  NodeProto node;
  node.op_type = function.name;
  node.domain = function.domain;
  node.attributes = function.attributes;
  for (const OnnxValue& operand : operands) {
    if (!operand.name.empty()) node.inputs.push_back(operand.name);
  }
  for (const std::string& symbol : function.symbols) node.inputs.push_back(scope.size(Dim::symbol(symbol)));
  OnnxValues results;
  for (const TensorType& type : types) {
    results.push_back({scope.fresh(function.name), type.dtype});
    node.outputs.push_back(results.back().name);
  }
  scope.add(std::move(node));
  return results;
}

}  // namespace kiln::onnx
