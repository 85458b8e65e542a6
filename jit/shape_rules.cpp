#include "jit/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/graph/text.h"
#include "tensor/operand_types.h"

namespace kiln::jit {
namespace {

std::vector<TensorType> run_rule(const Op& op, std::span<const Type> operands, const std::vector<Attr>& attrs,
                                 const SymbolValues& symbols) {
  std::vector<TensorType> types;
  for (const Type& each : operands) types.push_back(evaluate(each, symbols));
  put_numbers_beside(types);
  return op.infer(types, evaluate(op, attrs, symbols));
}

void check_not_data_dependent(const Op& op, const TensorType& type) {
  if (std::none_of(type.sizes.begin(), type.sizes.end(), [](Dim size) { return same(size, -1); })) return;
  throw OpError(ErrorKind::Capture, spoken_name(op) + ": the shape of the result depends on data");
}

}  // namespace

Inferred infer_types(const Op& op, std::span<const Type> operands, const std::vector<Attr>& attrs,
                     const SymbolValues& hints) {
  SizeScope scope(hints);
  const SizeScope::Reason reason(op.name());
  std::vector<TensorType> types;
  for (const Type& each : operands) types.push_back({each.dtype, each.device, each.sizes, each.is_number});
  put_numbers_beside(types);
  Inferred result;
  for (const TensorType& type : op.infer(types, to_attrs(op, attrs))) {
    check_not_data_dependent(op, type);
    result.types.push_back(to_type(type));
  }
  result.guards = scope.guards();
  return result;
}

void collect_symbols(const std::vector<Attr>& attrs, std::set<std::string>& into) {
  for (const Attr& each : attrs) {
    if (const auto* size = std::get_if<Dim>(&each)) collect_symbols(*size, into);
    if (const auto* sizes = std::get_if<Dims>(&each)) collect_symbols(*sizes, into);
  }
}

bool has_symbols(const std::vector<Attr>& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const Attr& each) {
    if (const auto* size = std::get_if<Dim>(&each)) return !size->is_known();
    const auto* sizes = std::get_if<Dims>(&each);
    return sizes != nullptr && has_symbols(*sizes);
  });
}

std::set<std::string> symbols_of(const Graph& graph, const Node& node) {
  std::set<std::string> found;
  for (const ValueId id : node.outputs)
    collect_symbols(graph.values[static_cast<std::size_t>(id)].type.sizes, found);
  collect_symbols(node.attrs, found);
  for (const Operand& each : node.operands) {
    const auto* size = each.is_number() ? std::get_if<Dim>(&each.number) : nullptr;
    if (size != nullptr) collect_symbols(*size, found);
  }
  return found;
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> found;
  for (const Value& each : graph.values) collect_symbols(each.type.sizes, found);
  for (const Input& each : graph.inputs) collect_symbols(each.offset, found);
  for (const Node& each : graph.nodes) found.merge(symbols_of(graph, each));
  for (const Effect& each : graph.effects) collect_symbols(each.attrs, found);
  return found;
}

Type operand_type(const Graph& graph, const Operand& operand) {
  if (operand.is_value()) return graph.values[static_cast<std::size_t>(operand.value)].type;
  Type type = absent_type();
  if (!operand.is_number()) return type;
  if (std::holds_alternative<Dim>(operand.number)) type.dtype = DType::I64;
  if (std::holds_alternative<double>(operand.number)) type.dtype = DType::F64;
  return type;
}

Inferred infer_types(const Graph& graph, const Node& node) {
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(operand_type(graph, each));
  Inferred result;
  if (node.is_constant()) {
    result.types = {to_type(node.constant.type())};
  } else if (node.writes() && !node.writes_metadata()) {
    result.types = {operands[0]};
  } else {
    result = infer_types(*node.op, operands, node.attrs, graph.hints);
  }
  return result;
}

namespace {

// Does what the rule is given or gives follow symbols?
bool follows_symbols(const Graph& graph, const Node& node) {
  const auto of_value = [&graph](ValueId id) {
    return has_symbols(graph.values[static_cast<std::size_t>(id)].type.sizes);
  };
  return has_symbols(node.attrs) || std::any_of(node.outputs.begin(), node.outputs.end(), of_value) ||
         std::any_of(node.operands.begin(), node.operands.end(), [&](const Operand& each) {
           if (each.is_value()) return of_value(each.value);
           const auto* size = each.is_number() ? std::get_if<Dim>(&each.number) : nullptr;
           return size != nullptr && !size->is_known();
         });
}

// Of one node; empty where it holds.
std::string check_shapes(const Graph& graph, const Node& node, const SymbolValues& values) {
  const auto told = [&] { return print_node(graph, node, value_names(graph)); };
  std::vector<Type> operands;
  for (const Operand& each : node.operands) operands.push_back(operand_type(graph, each));
  try {
    const std::vector<TensorType> types = run_rule(*node.op, operands, node.attrs, values);
    if (node.writes() && !node.writes_metadata()) {
      if (types[0].sizes == evaluate(operands[0].sizes, values)) return {};
      return told() + ": the result has sizes " + to_string(types[0].sizes);
    }
    if (types.size() != node.outputs.size()) return told() + ": " + std::to_string(types.size()) + " results";
    for (std::size_t k = 0; k < types.size(); ++k) {
      const auto id = static_cast<std::size_t>(node.outputs[k]);
      const TensorType stated = evaluate(graph.values[id].type, values);
      if (types[k] == stated) continue;
      return fmt::format("{}: {} is {}, not {}", told(), value_names(graph)[id], to_string(types[k]),
                         to_string(stated));
    }
  } catch (const OpError& error) {
    return told() + ": " + error.message();
  }
  return {};
}

}  // namespace

std::string check_shapes(const Graph& graph, const SymbolValues& values) {
  for (const SizeGuard& each : graph.size_guards) {
    if (!holds(each, values)) return to_string(each) + " does not hold";
  }
  for (const Node& node : graph.nodes) {
    if (node.is_constant() || !follows_symbols(graph, node)) continue;
    if (std::string misfit = check_shapes(graph, node, values); !misfit.empty()) return misfit;
  }
  return {};
}

}  // namespace kiln::jit
