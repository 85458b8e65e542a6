#include "onnx/import/evaluator.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostNodesRun = 1'000'000;
constexpr int kMostLevels = 64;

std::string_view standard(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

std::string spoken(const NodeProto& node) {
  std::string text = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  if (!node.name.empty()) text += " '" + node.name + "'";
  return text;
}

}  // namespace

const Value* NameScope::find(const std::string& name) const {
  for (const NameScope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

Evaluator::Evaluator(const ModelProto& model, Recording& recording, const ExternalData& external)
    : model_(model), recording_(recording), external_(external) {}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  static const std::map<std::pair<std::string_view, std::string_view>, const Operator*> all = [] {
    std::map<std::pair<std::string_view, std::string_view>, const Operator*> made;
    for (const std::span<const Operator> family :
         {elementwise_operators(), logic_operators(),    activation_operators(),
          reduce_operators(),      shape_operators(),    create_operators(),
          index_operators(),       order_operators(),    product_operators(),
          convolution_operators(), pool_operators(),     norm_operators(),
          flow_operators(),        sequence_operators(), attention_operators(),
          resize_operators(),      sample_operators(),   recurrent_operators(),
          quantize_operators(),    random_operators(),   loss_operators(),
          signal_operators(),      training_operators(), linear_attention_operators(),
          block_operators(),       box_operators(),      feature_operators(),
          tree_operators()}) {
      for (const Operator& each : family) made.emplace(std::pair(each.domain, each.name), &each);
    }
    return made;
  }();
  const auto found = all.find({standard(domain), name});
  return found == all.end() ? nullptr : found->second;
}

const FunctionProto* Evaluator::find_function(const NodeProto& node) const {
  if (draws_from_generator_ && node.domain == kOpsDomain && node.op_type == "philox") return nullptr;
  for (const FunctionProto& each : model_.functions) {
    if (each.name == node.op_type && standard(each.domain) == standard(node.domain) &&
        each.overload == node.overload)
      return &each;
  }
  return nullptr;
}

void Evaluator::count_unknown(const std::vector<NodeProto>& nodes,
                              std::vector<std::pair<std::string, int>>& unknown) const {
  for (const NodeProto& node : nodes) {
    for (const AttributeProto& each : node.attributes) {
      for (const GraphProto& graph : each.graphs) count_unknown(graph.nodes, unknown);
    }
    if (find_function(node) != nullptr || find_operator(node.domain, node.op_type) != nullptr) continue;
    const std::string name = standard(node.domain).empty() ? node.op_type : node.domain + "." + node.op_type;
    const auto known =
        std::find_if(unknown.begin(), unknown.end(), [&](const auto& each) { return each.first == name; });
    if (known == unknown.end()) {
      unknown.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
}

void Evaluator::check_operators() const {
  std::vector<std::pair<std::string, int>> unknown;
  count_unknown(model_.graph.nodes, unknown);
  for (const FunctionProto& each : model_.functions) count_unknown(each.nodes, unknown);
  if (unknown.empty()) return;
  std::string list;
  for (const auto& [name, count] : unknown) {
    list += (list.empty() ? "" : ", ") + name;
    if (count > 1) list += " (" + std::to_string(count) + " times)";
  }
  throw OpError(ErrorKind::Value, "the model has operators that Kiln does not know: " + list);
}

std::int64_t Evaluator::opset_of(const std::string& domain, const NameScope& scope) const {
  const NameScope* inner = &scope;
  while (inner != nullptr && inner->function == nullptr) inner = inner->outer();
  if (inner != nullptr) {
    for (const OpsetId& id : inner->function->opsets) {
      if (standard(id.domain) == standard(domain)) return id.version;
    }
  }
  return model_.opset(domain).value_or(1);
}

Values Evaluator::run(const GraphProto& graph, Values inputs, const NameScope* outer) {
  NameScope scope(outer);
  if (inputs.size() > graph.inputs.size())
    throw OpError(ErrorKind::Value, "the graph '" + graph.name + "' takes " +
                                        std::to_string(graph.inputs.size()) + " inputs, and is given " +
                                        std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) scope.set(graph.inputs[i].name, std::move(inputs[i]));
  for (const TensorProto& each : graph.initializers) {
    if (scope.find(each.name) == nullptr || outer != nullptr)
      scope.set(each.name, to_tensor(each, external_));
  }
  return run_in(graph, scope);
}

Values Evaluator::run_in(const GraphProto& graph, NameScope& scope) {
  if (++depth_ > kMostLevels)
    throw OpError(ErrorKind::Value, "graphs and functions of the model call each other beyond " +
                                        std::to_string(kMostLevels) + " levels");
  run_nodes(graph.nodes, scope);
  Values outputs;
  for (const ValueInfo& each : graph.outputs) {
    const Value* value = scope.find(each.name);
    if (value == nullptr)
      throw OpError(ErrorKind::Value,
                    "no node gives the output '" + each.name + "' of the graph '" + graph.name + "'");
    outputs.push_back(*value);
  }
  --depth_;
  return outputs;
}

void Evaluator::run_nodes(const std::vector<NodeProto>& nodes, NameScope& scope) {
  for (const NodeProto& node : nodes) run_node(node, scope);
}

void Evaluator::run_node(const NodeProto& node, NameScope& scope) {
  if (++nodes_run_ > kMostNodesRun)
    throw OpError(ErrorKind::Value, "the model runs more than " + std::to_string(kMostNodesRun) +
                                        " nodes, with those in loops counted each time");
  Values results;
  try {
    results = results_of(node, scope);
  } catch (const UnknownElements& error) {
    if (std::exchange(is_told_, true)) throw;
    throw UnknownElements(spoken(node) + ": " + error.message(), error.follows());
  } catch (const OpError& error) {
    if (std::exchange(is_told_, true)) throw;
    throw OpError(error.kind(), spoken(node) + ": " + error.message(), {}, error.help());
  }
  for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (results[i].tensor) recording_.set_name(results[i].tensor, node.outputs[i]);
    scope.set(node.outputs[i], std::move(results[i]));
  }
}

Values Evaluator::results_of(const NodeProto& node, NameScope& scope) {
  if (const FunctionProto* function = find_function(node)) return call_function(*function, node, scope);
  const Operator* found = find_operator(node.domain, node.op_type);
  if (found == nullptr) throw OpError(ErrorKind::Value, "Kiln does not know this operator");
  Call call(*this, scope, node, opset_of(node.domain, scope));
  bool follows_sizes = false;
  for (const std::string& name : node.inputs) {
    const Value* value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr && !name.empty())
      throw OpError(ErrorKind::Value, "no node before it gives its input '" + name + "'");
    call.inputs.push_back(value == nullptr ? Value() : *value);
    follows_sizes |= value != nullptr && value->sizes.has_value();
  }
  if (follows_sizes && found->domain.empty()) {
    if (std::optional<Value> result = on_sizes(call)) return {std::move(*result)};
  }
  return found->run(call);
}

Values Evaluator::call_function(const FunctionProto& function, const NodeProto& node, NameScope& scope) {
  if (++depth_ > kMostLevels)
    throw OpError(ErrorKind::Value, "graphs and functions of the model call each other beyond " +
                                        std::to_string(kMostLevels) + " levels");
  NameScope body;
  body.caller = &node;
  body.caller_scope = &scope;
  body.function = &function;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const std::string name = i < node.inputs.size() ? node.inputs[i] : std::string();
    const Value* value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr && !name.empty())
      throw OpError(ErrorKind::Value, "no node before it gives its input '" + name + "'");
    body.set(function.inputs[i], value == nullptr ? Value() : *value);
  }
  run_nodes(function.nodes, body);
  Values results;
  for (const std::string& each : function.outputs) {
    const Value* value = body.find(each);
    results.push_back(value == nullptr ? Value() : *value);
  }
  --depth_;
  return results;
}

}  // namespace kiln::onnx
