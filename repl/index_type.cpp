#include "repl/index_type.h"

#include <fmt/format.h>

#include <algorithm>

#include "repl/op_types.h"
#include "tensor/error.h"
#include "tensor/how_many.h"
#include "tensor/integers.h"

namespace kiln::repl {
namespace {

std::int64_t sliced(std::int64_t size, const IndexItem& item) {
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t start = place(item.bounds[0].value_or(0)), stop = place(item.bounds[1].value_or(size));
  const std::int64_t step = item.bounds[2].value_or(1);
  if (step < 1) throw OpError(ErrorKind::Value, fmt::format("a slice's step is at least 1, not {}", step));
  return std::max<std::int64_t>(0, ceil_divide(stop - start, step));
}

void check_int(const IndexItem& item, Dim size, std::size_t dim) {
  if (!item.bounds[0]) return;
  const std::int64_t at = *item.bounds[0];
  if (at >= -size && at < size) return;
  throw OpError(ErrorKind::Index,
                fmt::format("index {} is out of range for dimension {} of size {}", at, dim, size));
}

}  // namespace

TensorType index_type(const TensorType& type, std::span<const IndexItem> items) {
  using Kind = IndexItem::Kind;
  const auto consumes = [](const IndexItem& item) {
    return item.kind != Kind::NewDim && item.kind != Kind::Rest;
  };
  const auto used = static_cast<std::size_t>(std::count_if(items.begin(), items.end(), consumes));
  const std::size_t rank = type.sizes.size();
  if (used > rank) {
    throw OpError(ErrorKind::Index,
                  fmt::format("{} for {}", how_many(used, "index", "indices"), to_string(type)));
  }
  std::vector<Dim> sizes, picked;
  std::size_t dim = 0, picked_at = 0;
  bool picks = false, apart = false, last_picked = false;
  const auto keep = [&](std::size_t count) {
    for (; count > 0; --count) sizes.push_back(type.sizes[dim++]);
  };
  for (const IndexItem& item : items) {
    const bool advanced = item.kind == Kind::Tensor;
    if (advanced && item.tensor.dtype == DType::Bool) throw Unknown{"a mask picks as many as are true"};
    if (advanced) {
      // Picked dimensions stand where the picking tensors are side by side, else in front.
      apart = apart || (picks && !last_picked);
      if (!picks) picked_at = sizes.size();
      picks = true;
      const Dims both = broadcast(std::span<const Dim>(picked), item.tensor.sizes, "index");
      picked.assign(both.begin(), both.end());
      ++dim;
    } else if (item.kind == Kind::Int) {
      check_int(item, type.sizes[dim], dim);
      ++dim;
    } else if (item.kind == Kind::Slice) {
      sizes.push_back(sliced(type.sizes[dim], item));
      ++dim;
    } else if (item.kind == Kind::NewDim) {
      sizes.push_back(1);
    } else {
      keep(rank - used);
    }
    last_picked = advanced;
  }
  keep(rank - dim);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(apart ? 0 : picked_at), picked.begin(),
               picked.end());
  TensorType result{type.dtype, type.device, {}, false};
  for (const Dim size : sizes) result.sizes.push_back(size);
  return result;
}

}  // namespace kiln::repl
