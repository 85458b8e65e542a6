#include "tensor/cuda/advanced_index.h"

#include <limits>

#include "tensor/cuda/true_places.h"

namespace kiln::cuda {
namespace {

using namespace advanced_index;

std::vector<Item> items_of(const Tensor& x, Inputs indices, int operand) {
  std::vector<TensorType> types;
  for (const Tensor& index : indices) types.push_back(index ? index.type() : kAbsent);
  return advanced_index::items_of(x.type(), types, operand);
}

IndexOperand operand_of(const Tensor& x, const Tensor& index, const Item& item) {
  return {.values = index,
          .size = x.size(item.first).fixed(),
          .step = x.strides()[static_cast<std::size_t>(item.first)].fixed(),
          .wraps = true,
          .dim = item.first,
          .operand = item.operand};
}
IndexOperand operand_of(const Tensor& offsets) {
  return {.values = offsets, .size = std::numeric_limits<std::int64_t>::max(), .is_checked = false};
}

}  // namespace

bool is_mask(const Tensor& index) { return index && index.dtype() == DType::Bool && !index.is_number(); }

Tensors offsets_of_masks(const Tensor& x, Inputs indices, int operand) {
  Tensors offsets;
  for (const Item& item : items_of(x, indices, operand)) {
    const Tensor& index = indices[static_cast<std::size_t>(item.operand - operand)];
    if (!is_mask(index)) continue;
    const auto first = x.strides().begin() + item.first;
    offsets.push_back(TrueElements(index).places(index.sizes(), IntDims(Dims(first, first + item.span))));
  }
  return offsets;
}

IndexPlan plan_of(const Tensor& x, Inputs indices, std::span<const Tensor> offsets, int operand) {
  std::vector<Item> items = items_of(x, indices, operand);
  IndexPlan plan;
  for (Item& item : items) {
    const Tensor& index = indices[static_cast<std::size_t>(item.operand - operand)];
    plan.indices.push_back(item.sizes == Dims{-1} && is_mask(index) ? operand_of(offsets.front())
                                                                    : operand_of(x, index, item));
    if (is_mask(index)) offsets = offsets.subspan(1);
    item.sizes = plan.indices.back().values.sizes();
  }
  const Order order = order_of(items, x.rank());
  const Dims middle = broadcast_items(items);
  plan.middle = middle;
  plan.sizes = result_sizes(x.sizes(), order, middle);
  plan.before = static_cast<std::size_t>(order.before);
  for (IndexOperand& each : plan.indices) each.first = static_cast<int>(middle.size()) - each.values.rank();
  for (int i = 0; i < static_cast<int>(order.dims.size()); ++i) {
    if (i >= order.before && i < order.before + order.indexed) continue;
    const int d = order.dims[static_cast<std::size_t>(i)];
    plan.outer_sizes.push_back(x.size(d).fixed());
    plan.outer_strides.push_back(x.strides()[static_cast<std::size_t>(d)].fixed());
  }
  return plan;
}

IndexedPlaces IndexPlan::places() const {
  IndexedPlaces all{sizes, outer_strides, indices};
  for (std::size_t d = 0; d < middle.size(); ++d)
    all.strides.insert(all.strides.begin() + static_cast<std::ptrdiff_t>(before), 0);
  for (IndexOperand& each : all.indices) each.first += static_cast<int>(before);
  return all;
}

}  // namespace kiln::cuda
