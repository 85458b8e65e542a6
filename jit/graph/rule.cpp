#include "jit/graph/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "jit/graph/custom.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

std::vector<TensorType> tensor_types(std::span<const Type> types) {
  std::vector<TensorType> result;
  for (const Type& each : types) result.push_back({each.dtype, each.device, each.sizes, each.is_number});
  return result;
}

Tensor zeros_of(const TensorType& type) { return ops::zeros(type.sizes, type.dtype, type.device); }

Tensors run_rule(const RuleCall& call, Inputs given) {
  const std::size_t inputs = call.input_types.size(), outputs = call.output_types.size();
  Tensors all(inputs + 2 * outputs);
  for (std::size_t k = 0; k < call.places.size(); ++k) all[call.places[k]] = given[k];
  const std::vector<TensorType> output_types = tensor_types(call.output_types);
  for (std::size_t k = 0; k < outputs; ++k) {
    Tensor& grad = all[inputs + outputs + k];
    if (!grad && is_float(output_types[k].dtype)) grad = zeros_of(output_types[k]);
  }
  const auto needs = std::make_unique<bool[]>(inputs);
  std::copy(call.needs.begin(), call.needs.end(), needs.get());
  const Inputs tensors(all);
  Tensors made = derivative_of(*call.op)(
      {*call.op, to_attrs(*call.op, call.attrs), tensors.first(inputs), tensors.subspan(inputs, outputs),
       tensor_types(call.input_types), output_types, tensors.last(outputs), std::span(needs.get(), inputs)});
  if (made.size() != inputs) {
    throw InternalError(fmt::format("the derivative of {} gives {} gradients for {} inputs", call.op->name(),
                                    made.size(), inputs));
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!call.needs[i]) made[i] = {};
  }
  return made;
}

}  // namespace

Saves saves_of(const Op& op, const std::vector<bool>& has_history) {
  if (op.saves_by_input.empty()) return op.saves;
  Saves saves;
  for (std::size_t i = 0; i < has_history.size(); ++i) {
    if (has_history[i]) saves = saves | op.saves_by_input[std::min(i, op.saves_by_input.size() - 1)];
  }
  return saves;
}

std::string no_graph_of(std::string_view name, const SymbolValues& hints) {
  return fmt::format("the derivative of {} has no graph: which steps it takes depends on elements{}", name,
                     hints.empty() ? "" : ", or here on sizes that are symbols");
}

Body rule_of(RuleCall call) {
  return [call = std::move(call)](Inputs given) { return run_rule(call, given); };
}

}  // namespace kiln::jit
