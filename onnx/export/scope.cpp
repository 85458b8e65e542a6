#include "onnx/export/scope.h"

#include <algorithm>

#include "jit/graph/evaluate.h"
#include "jit/graph/layouts.h"
#include "jit/shape_rules.h"
#include "onnx/export/custom.h"
#include "onnx/export/model_writer.h"
#include "onnx/export/tensors.h"
#include "tensor/onnx/rules.h"

namespace kiln::onnx {
namespace {

TensorType to_type(const jit::Type& type) { return {type.dtype, type.device, type.sizes, type.is_number}; }

AttributeProto to_proto(const std::string& name, const OnnxAttr& value) {
  return std::visit(
      [&name](const auto& each) {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, double>) {
          return AttributeProto::of(name, static_cast<float>(each));
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return AttributeProto::of(name, std::vector<float>(each.begin(), each.end()));
        } else {
          return AttributeProto::of(name, each);
        }
      },
      value);
}

// Where a node stands in the program, for readers of the model.
std::string doc_of(const jit::Node& node) {
  std::string doc;
  if (!node.origin.empty()) doc = "grad of " + node.origin;
  if (node.place.file.empty()) return doc;
  if (!doc.empty()) doc += ", ";
  return doc + node.place.file.get() + ":" + std::to_string(node.place.line) + ":" +
         std::to_string(node.place.column);
}

// The names of a graph's values, as those of a model: "x", and that of its op for one without a name.
std::vector<std::string> names_of_values(const jit::Graph& graph) {
  std::vector<std::string> names;
  for (const jit::Value& each : graph.values) names.push_back(each.name);
  for (const jit::Node& node : graph.nodes) {
    for (const jit::ValueId id : node.outputs) {
      std::string& name = names[static_cast<std::size_t>(id)];
      if (name.empty()) name = jit::op_text(node);
    }
  }
  for (std::string& name : names) {
    if (name.empty()) name = "x";
  }
  return names;
}

OnnxValues present(const OnnxValues& operands) {
  OnnxValues result;
  std::ranges::copy_if(operands, std::back_inserter(result),
                       [](const OnnxValue& x) { return !x.name.empty(); });
  return result;
}

// Complex values are pairs of parts (tensor/onnx/complex.cpp), which rows that make and take them know.
bool moves_pairs(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  const auto holds = [](std::span<const TensorType> types) {
    return std::ranges::any_of(types, [](const TensorType& each) { return is_complex(each.dtype); });
  };
  const bool knows_pairs = op.view_dtype != nullptr || op.identity.kind == Identity::Kind::JoinsParts;
  return !knows_pairs && (holds(inputs) || holds(outputs));
}

}  // namespace

void Scope::add(NodeProto node) {
  if (node.name.empty() && !node_name_.empty()) node.name = jit::fresh_name(node_names_, node_name_);
  if (node.doc.empty()) node.doc = node_doc_;
  nodes.push_back(std::move(node));
}

std::vector<std::string> Scope::add(std::string_view type, std::vector<std::string> operands,
                                    OnnxAttrs attributes, std::size_t results) {
  NodeProto node;
  node.op_type = type;
  node.inputs = std::move(operands);
  for (const auto& [name, value] : attributes) node.attributes.push_back(to_proto(name, value));
  for (std::size_t i = 0; i < results; ++i) node.outputs.push_back(fresh(std::string(type)));
  std::vector<std::string> names = node.outputs;
  add(std::move(node));
  return names;
}

std::string Scope::constant(const Tensor& value) {
  const std::string name = fresh("constant");
  if (!is_function_) {
    initializers.push_back(onnx::to_proto(value, name));
    return name;
  }
  NodeProto node;
  node.op_type = "Constant";
  node.outputs = {name};
  node.attributes.push_back(AttributeProto::of("value", onnx::to_proto(value, "")));
  add(std::move(node));
  return name;
}

OnnxValue Scope::operand(const jit::Operand& operand, const OnnxValues& known) {
  if (operand.is_value()) return known[static_cast<std::size_t>(operand.value)];
  if (!operand.is_number()) return {.name = "", .dtype = DType::Bool};
  if (const auto* symbolic = std::get_if<Dim>(&operand.number); symbolic && !symbolic->is_known())
    return {.name = size(*symbolic), .dtype = DType::I64};
  const Tensor number = jit::number_tensor(operand.number);
  return {.name = "", .dtype = number.dtype(), .number = number};
}

OnnxValues Scope::written(const jit::Graph& graph, const jit::Node& node, const OnnxValues& operands) {
  if (node.is_constant()) {
    const Tensor given = as_pairs(node.constant);
    return {{constant(given), given.dtype()}};
  }
  if (const jit::CustomFunction* function = jit::custom_function(*node.op))
    return write_custom(*this, *function, graph, node, operands);
  std::vector<TensorType> inputs, outputs;
  for (const jit::Operand& each : node.operands) inputs.push_back(to_type(jit::operand_type(graph, each)));
  for (const jit::ValueId id : node.outputs)
    outputs.push_back(to_type(graph.values[static_cast<std::size_t>(id)].type));
  const OnnxRule& rule = node.op->onnx;
  const Attrs attrs = jit::to_attrs(*node.op, node.attrs);
  if (moves_pairs(*node.op, inputs, outputs))
    return onnx_rules::moved_in_parts({*node.op, attrs, operands, inputs, outputs, *this});
  if (!rule.expression.empty() || rule.write != nullptr) {
    OnnxValues results = write_onnx({*node.op, attrs, operands, inputs, outputs, *this});
    if (!results.empty() || node.outputs.empty()) return results;  // else the opset has no operator for it
  }
  const bool has_body = rule.body != nullptr || node.op->decompose != nullptr;
  // Draws follow one another in the graph, which a function knows nothing of.
  if (has_body && node.op->draws()) return write(model_.body_of(graph, node), present(operands)).outputs;
  if (has_body) return model_.call(*this, model_.function_of(graph, node), operands, outputs);
  throw OpError(ErrorKind::Capture, "'" + std::string(node.op->name()) + "' has no form in ONNX" +
                                        (rule.missing.empty() ? "" : ": " + std::string(rule.missing)));
}

std::string Scope::renamed(std::size_t first, const std::string& from, const std::string& to) {
  if (shared_.contains(from)) return from;
  bool is_made_here = false;
  for (std::size_t i = first; i < nodes.size(); ++i) {
    is_made_here |= std::ranges::find(nodes[i].outputs, from) != nodes[i].outputs.end();
  }
  if (!is_made_here) return from;
  for (std::size_t i = first; i < nodes.size(); ++i) {
    std::ranges::replace(nodes[i].inputs, from, to);
    std::ranges::replace(nodes[i].outputs, from, to);
  }
  return to;
}

void Scope::write_node(const jit::Graph& graph, const jit::Node& node, const std::vector<std::string>& names,
                       OnnxValues& known) {
  OnnxValues operands;
  const std::size_t first = nodes.size();
  node_doc_ = doc_of(node);
  node_name_ = node.outputs.empty() ? "" : names[static_cast<std::size_t>(node.outputs[0])];
  OnnxValues results;
  try {
    for (const jit::Operand& each : node.operands) operands.push_back(operand(each, known));
    results = written(graph, node, operands);
  } catch (const OpError& error) {
    model_.problems.push_back({node.place, error.message()});
    for (const jit::ValueId id : node.outputs)
      results.push_back({"none", dtype_of_parts(graph.values[static_cast<std::size_t>(id)].type.dtype)});
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(node.outputs[i]);
    OnnxValue& result = results[i];
    result.name = renamed(first, result.name, names[id]);
    known[id] = result;
    if (is_function_ || result.name != names[id]) continue;
    ValueInfo info;
    info.name = names[id];
    info.type = onnx::to_proto(graph.values[id].type);
    values.push_back(std::move(info));
  }
}

Scope::Written Scope::write(const jit::Graph& graph, const OnnxValues& inputs) {
  const jit::AssumedScope sizes_of_graph(graph);
  OnnxValues known(graph.values.size());
  std::vector<std::string> names = names_of_values(graph);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i < inputs.size()) {
      known[i] = inputs[i];
      if (!graph.values[i].type.is_number) show_sizes(inputs[i].name, graph.values[i].type);
    } else {
      names[i] = fresh(names[i]);
    }
  }
  const auto outer = std::pair(node_name_, node_doc_);
  for (const jit::Node& node : graph.nodes) write_node(graph, node, names, known);
  std::tie(node_name_, node_doc_) = outer;
  Written result;
  for (const jit::Operand& each : graph.outputs) result.outputs.push_back(operand(each, known));
  for (const jit::Effect& effect : graph.effects) {
    const bool has_value = effect.value >= 0;
    result.effects.push_back(has_value ? known[static_cast<std::size_t>(effect.value)] : OnnxValue{});
  }
  if (!sizes_of_graph.asked_nothing())
    model_.add_note("the model is for sizes like those of the arguments: the program asks for them");
  return result;
}

void Scope::name_result(const std::string& name, const OnnxValue& value) {
  NodeProto node;
  node.op_type = "Identity";
  node.name = name;
  node.inputs = {value.name};
  node.outputs = {name};
  if (value.name.empty()) node.inputs = {constant(value.number)};
  add(std::move(node));
}

}  // namespace kiln::onnx
