#include "jit/cuda/gather.h"

#include <algorithm>

#include "jit/shape_rules.h"
#include "tensor/cuda/gathers.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::jit {
namespace {

Tensor operand(const Load& load, const ShownLayout& shown, Inputs inputs) {
  if (load.input < 0) return {};
  Tensor from = inputs[static_cast<std::size_t>(load.input)];
  from.check_readable();
  for (const Layout& each : shown.laid_out) from = ops::clone(Tensor::alias(from, each));
  return Tensor::alias(from, shown.layout);
}

}  // namespace

std::vector<std::size_t> indices_of(const Load& load) {
  std::vector<std::size_t> indices;
  const auto source = static_cast<std::size_t>(cuda::source_of(*load.gather));
  for (std::size_t k = 0; k < load.operands.size(); ++k)
    if (k != source && load.operands[k].input >= 0) indices.push_back(k);
  return indices;
}

CudaGather plan_gather(const Load& load, Inputs inputs, const SymbolValues& values) {
  CudaGather plan{evaluate(*load.gather, load.attrs, values), {}, {}, {}};
  for (const Load& each : load.operands) {
    const bool is_there = each.input >= 0;
    plan.operands.push_back(
        is_there ? layout_of(each, inputs[static_cast<std::size_t>(each.input)].layout(), values)
                 : ShownLayout());
  }
  const cuda::IndexedPlaces places =
      cuda::places_of(*load.gather, plan.attrs, gather_operands(load, plan, inputs));
  plan.strides = places.strides;
  for (const std::size_t k : indices_of(load)) {
    const auto index = std::ranges::find(places.indices, static_cast<int>(k), &cuda::IndexOperand::operand);
    plan.indices.push_back(
        {{index->least(), index->size, index->step}, cuda::strides_of(*index, places.sizes.size())});
  }
  return plan;
}

Tensors gather_operands(const Load& load, const CudaGather& plan, Inputs inputs) {
  Tensors operands;
  for (std::size_t k = 0; k < load.operands.size(); ++k)
    operands.push_back(operand(load.operands[k], plan.operands[k], inputs));
  for (const std::size_t k : indices_of(load)) operands[k] = cuda::kept(operands[k]);
  return operands;
}

OpError refused_gather(const Op& op, const Attrs& attrs, Inputs operands) {
  if (const std::optional<OpError> error = cuda::out_of_range(cuda::places_of(op, attrs, operands)))
    return *error;
  throw InternalError("a kernel refused an index that is in range");
}

}  // namespace kiln::jit
