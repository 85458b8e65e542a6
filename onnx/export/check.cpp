#include "onnx/export/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace kiln::onnx {
namespace {

using Names = std::set<std::string, std::less<>>;

// In one scope: operands are there, results are new.
std::string fault_of_nodes(const std::vector<NodeProto>& nodes, Names& known) {
  for (const NodeProto& node : nodes) {
    for (const std::string& input : node.inputs) {
      if (!input.empty() && !known.contains(input))
        return fmt::format("'{}' of {} is used before it is made", input, node.op_type);
    }
    for (const std::string& output : node.outputs) {
      if (!output.empty() && !known.insert(output).second)
        return fmt::format("'{}' of {} is made twice", output, node.op_type);
    }
  }
  return {};
}

std::string fault_of_results(const std::vector<std::string>& results, const Names& known) {
  for (const std::string& each : results) {
    if (!known.contains(each)) return fmt::format("nothing makes the output '{}'", each);
  }
  return {};
}

std::string fault_of_types(const std::vector<ValueInfo>& values) {
  for (const ValueInfo& each : values) {
    if (each.type.kind == TypeProto::Kind::Tensor && each.type.element == ElementType::Undefined)
      return fmt::format("'{}' has no element type", each.name);
  }
  return {};
}

std::string fault_of_domains(const ModelProto& model, const std::vector<NodeProto>& nodes) {
  for (const NodeProto& node : nodes) {
    if (!model.opset(node.domain))
      return fmt::format("the domain '{}' of {} has no version", node.domain, node.op_type);
    const bool is_ours = node.domain.starts_with("kiln.");
    const auto is_called = [&node](const FunctionProto& each) {
      return each.domain == node.domain && each.name == node.op_type;
    };
    if (is_ours && std::ranges::none_of(model.functions, is_called))
      return fmt::format("there is no function {}.{}", node.domain, node.op_type);
  }
  return {};
}

std::string fault_of_function(const ModelProto& model, const FunctionProto& function) {
  Names known(function.inputs.begin(), function.inputs.end());
  std::string fault = fault_of_nodes(function.nodes, known);
  if (fault.empty()) fault = fault_of_results(function.outputs, known);
  if (fault.empty()) fault = fault_of_domains(model, function.nodes);
  return fault.empty() ? fault : fmt::format("in the function {}: {}", function.name, fault);
}

}  // namespace

std::string find_fault(const ModelProto& model) {
  Names known;
  std::vector<std::string> results;
  for (const ValueInfo& each : model.graph.inputs) known.insert(each.name);
  for (const TensorProto& each : model.graph.initializers) known.insert(each.name);
  for (const ValueInfo& each : model.graph.outputs) results.push_back(each.name);
  std::string fault = fault_of_nodes(model.graph.nodes, known);
  if (fault.empty()) fault = fault_of_results(results, known);
  if (fault.empty()) fault = fault_of_types(model.graph.inputs);
  if (fault.empty()) fault = fault_of_types(model.graph.outputs);
  if (fault.empty()) fault = fault_of_domains(model, model.graph.nodes);
  for (const FunctionProto& function : model.functions) {
    if (fault.empty()) fault = fault_of_function(model, function);
  }
  return fault;
}

}  // namespace kiln::onnx
