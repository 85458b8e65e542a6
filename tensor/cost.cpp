#include "tensor/cost.h"

namespace kiln {
namespace {

std::optional<std::int64_t> flops_of(const Op& op, Inputs operands, Inputs results) {
  if (results.empty() || !results[0]) return std::nullopt;
  if (op.products != nullptr) return 2 * results[0].numel() * op.products(operands);
  if (op.lowering == Lowering::Pointwise) return results[0].numel();
  if (op.lowering == Lowering::Reduce) return operands[0].numel();
  return std::nullopt;
}

}  // namespace

std::int64_t bytes_of_elements(const Tensor& x) {
  return x ? x.numel() * static_cast<std::int64_t>(size_of(x.dtype())) : 0;
}

Cost cost_of(const Op& op, Inputs operands, Inputs results) {
  Cost cost{.bytes = 0, .flops = flops_of(op, operands, results)};
  for (const Inputs side : {operands, results}) {
    for (const Tensor& each : side) cost.bytes += bytes_of_elements(each);
  }
  return cost;
}

}  // namespace kiln
