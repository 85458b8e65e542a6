// Which of the elements that were written to one place stayed: the one whose number is found there.
#include <algorithm>

#include "tensor/functions.h"
#include "tensor/ops/counting.h"
#include "tensor/ops/scatter.h"
#include "tensor/shape.h"

namespace kiln {

Tensor of_those_that_stay(const Tensor& picked, const Tensor& g, int dim, const Tensor& index) {
  const Tensor numbers = ops::reshape(rules::counting(index.numel(), g.device()), index.sizes());
  const Tensor left = ops::scatter(ops::zeros(g.sizes(), DType::I64, g.device()), dim, index, numbers);
  return ops::where(ops::eq(ops::gather(left, dim, index), numbers), picked, Tensor::number(0.0));
}

// Places are told apart by the dimensions that have an index, unless a mask is among these.
Tensor of_those_that_stay(const Tensor& picked, const Tensor& g, Inputs indices) {
  const auto is_mask = [](const Tensor& each) { return each && each.dtype() == DType::Bool; };
  const auto is_unique = [&](const Tensor& each) { return !each || is_mask(each) || each.numel() < 2; };
  if (std::all_of(indices.begin(), indices.end(), is_unique)) return picked;
  Tensors compact;
  Dims table, numbered;
  std::size_t first = indices.size(), last = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    first = std::min(first, d);
    last = d;
    compact.push_back(indices[d]);
    table.push_back(g.size(static_cast<int>(d)));
    numbered = broadcast(numbered, indices[d].sizes(), "index_put");
  }
  Dims sizes = numbered;
  if (std::any_of(indices.begin(), indices.end(), is_mask)) {
    compact = Tensors(indices.begin(), indices.end());
    table = g.sizes();
    numbered = sizes = picked.sizes();
  } else {
    const bool together = last - first + 1 == compact.size();
    const std::size_t before = together ? last + 1 : compact.size();
    for (std::size_t d = before; d < g.sizes().size(); ++d) sizes.push_back(1);
  }
  const Tensor numbers = ops::reshape(rules::counting(count_elements(numbered), g.device()), numbered);
  const Tensor left = ops::index_put(ops::zeros(table, DType::I64, g.device()), compact, numbers);
  const Tensor stays = ops::reshape(ops::eq(ops::index(left, compact), numbers), sizes);
  return ops::where(stays, picked, Tensor::number(0.0));
}

}  // namespace kiln
