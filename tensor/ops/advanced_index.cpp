#include "tensor/ops/advanced_index.h"

#include <fmt/format.h>

#include "tensor/ops/rules.h"

namespace kiln::advanced_index {
namespace {

bool is_absent(const TensorType& type) { return type.is_number && type.dtype == DType::Bool; }

void check_mask(const TensorType& mask, const TensorType& x, int first, int operand) {
  for (std::size_t d = 0; d < mask.sizes.size(); ++d) {
    const std::size_t dim = static_cast<std::size_t>(first) + d;
    if (dim < x.sizes.size() && mask.sizes[d] == x.sizes[dim]) continue;
    throw OpError(
        ErrorKind::Index,
        fmt::format("a mask {} does not fit {} from dimension {} on", to_string(mask), to_string(x), first),
        {0, operand});
  }
}

}  // namespace

std::vector<Item> items_of(const TensorType& x, std::span<const TensorType> indices, int operand) {
  std::vector<Item> items;
  int dim = 0;
  for (const TensorType& index : indices) {
    const int rank = static_cast<int>(index.sizes.size());
    if (index.dtype == DType::Bool && !is_absent(index)) {
      check_mask(index, x, dim, operand);
      items.push_back({dim, rank, Dims{-1}, operand});
      dim += rank;
    } else {
      if (!is_absent(index)) {
        rules::check_index_dtype(index, "index", operand);
        items.push_back({dim, 1, index.sizes, operand});
      }
      ++dim;
    }
    ++operand;
  }
  if (dim > static_cast<int>(x.sizes.size())) {
    throw OpError(ErrorKind::Index, fmt::format("too many indices: {} for {}", dim, to_string(x)), {0});
  }
  return items;
}

Dims broadcast_items(const std::vector<Item>& items) {
  Dims sizes;
  for (const Item& item : items) {
    const bool unknown = item.sizes == Dims{-1};
    if (unknown && (sizes.empty() || sizes.back() == 1)) {
      if (sizes.empty()) sizes.push_back(1);
      sizes.back() = -1;
      continue;
    }
    if (unknown || (!sizes.empty() && sizes.back() == -1)) continue;  // seen when it runs
    if (!broadcastable_to(item.sizes, sizes) && !broadcastable_to(sizes, item.sizes)) {
      Dims wide;
      try {
        wide = broadcast(sizes, item.sizes, "index");
      } catch (const OpError&) {
        throw OpError(ErrorKind::Index,
                      fmt::format("indices of shapes {} and {} do not broadcast", to_string(sizes),
                                  to_string(item.sizes)),
                      {item.operand});
      }
    }
    sizes = broadcast(sizes, item.sizes, "index");
  }
  return sizes;
}

Order order_of(const std::vector<Item>& items, int rank) {
  std::vector<bool> is_indexed(static_cast<std::size_t>(rank), false);
  Order order;
  for (const Item& item : items) {
    for (int d = item.first; d < item.first + item.span; ++d) is_indexed[static_cast<std::size_t>(d)] = true;
    order.indexed += item.span;
  }
  const bool adjacent =
      items.empty() || items.back().first + items.back().span - items.front().first == order.indexed;
  order.before = adjacent && !items.empty() ? items.front().first : 0;
  for (int d = 0; d < order.before; ++d) order.dims.push_back(d);
  for (int d = 0; d < rank; ++d) {
    if (is_indexed[static_cast<std::size_t>(d)]) order.dims.push_back(d);
  }
  for (int d = order.before; d < rank; ++d) {
    if (!is_indexed[static_cast<std::size_t>(d)]) order.dims.push_back(d);
  }
  return order;
}

Dims result_sizes(const Dims& x, const Order& order, const Dims& middle) {
  Dims sizes;
  for (std::size_t i = 0; i < order.dims.size(); ++i) {
    const int at = static_cast<int>(i);
    if (at == order.before) sizes.append(middle.begin(), middle.end());
    if (at >= order.before && at < order.before + order.indexed) continue;
    sizes.push_back(x[static_cast<std::size_t>(order.dims[i])]);
  }
  if (order.before == static_cast<int>(order.dims.size())) sizes.append(middle.begin(), middle.end());
  return sizes;
}

void check_values(const TensorType& values, const Dims& places) {
  if (broadcastable_to(values.sizes, places)) return;
  throw OpError(ErrorKind::Shape,
                fmt::format("index_put: values {} do not broadcast to the {} places picked",
                            to_string(values), to_string(places)),
                {0, 1});
}

}  // namespace kiln::advanced_index
