#include "tensor/indexing.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/core_ops.h"
#include "tensor/ops/rules.h"

namespace kiln {

namespace {

using Kind = IndexItem::Kind;

// How many dimensions of the tensor an item stands for.
int consumed(const IndexItem& item) {
  switch (item.kind) {
    case Kind::Int:
    case Kind::Slice:
      return 1;
    case Kind::Tensor:
      return item.tensor.dtype() == DType::Bool ? item.tensor.rank() : 1;
    default:
      return 0;
  }
}

void check_items(const Tensor& x, std::span<const IndexItem> items) {
  int count = 0;
  int ellipses = 0;
  for (const IndexItem& item : items) {
    count += consumed(item);
    ellipses += item.kind == Kind::Ellipsis ? 1 : 0;
    if (item.kind != Kind::Tensor || item.tensor.dtype() == DType::Bool || is_integer(item.tensor.dtype()))
      continue;
    throw OpError(
        ErrorKind::Index,
        fmt::format("an index must hold integers or bools, it is {}", to_string(item.tensor.type())), {0});
  }
  if (ellipses > 1) throw OpError(ErrorKind::Index, "only one `...` may stand in an index", {0});
  if (count > x.rank()) {
    throw OpError(ErrorKind::Index, fmt::format("too many indices: {} for {}", count, to_string(x.type())),
                  {0});
  }
}

// What basic items leave of a tensor, and the indices that remain, one for each dimension of it that has any.
struct Resolved {
  Tensor view;
  Tensors indices;
  int covered = 0;  // dimensions that the indices stand for
  bool advanced = false;
};

void index_dimension(Resolved& result, int dim, const Tensor& index) {
  for (; result.covered < dim; ++result.covered) result.indices.emplace_back();
  result.indices.push_back(index);
  result.covered += index.dtype() == DType::Bool ? index.rank() : 1;
  result.advanced = true;
}

// A number that is true or false picks all or nothing along a new dimension.
void index_by_bool(Resolved& result, int dim, const Tensor& flag) {
  result.view = ops::unsqueeze(result.view, dim);
  index_dimension(result, dim, flag.rank() == 0 ? ops::reshape(flag, Dims{1}) : flag);
}

// As written: an end that is not given is none, not the size that the dimension happens to have.
Tensor sliced(const Tensor& x, int dim, const IndexItem& item) {
  static const Op& row = core_ops().slice;
  const Attr end = item.stop ? Attr(*item.stop) : Attr();
  return rules::apply_one(row, {x}, {Dim(dim), item.start.value_or(0), end, item.step.value_or(1)});
}

Resolved resolve(const Tensor& x, std::span<const IndexItem> items) {
  check_items(x, items);
  const bool advanced =
      std::any_of(items.begin(), items.end(), [](const IndexItem& i) { return i.kind == Kind::Tensor; });
  int rest = x.rank();
  for (const IndexItem& item : items) rest -= consumed(item);
  Resolved result{x, {}, 0, false};
  int dim = 0;
  int original = 0;  // the dimension of x, for messages
  for (const IndexItem& item : items) {
    switch (item.kind) {
      case Kind::Int: {
        const Dim size = x.size(original);
        if (item.index < -size || item.index >= size)
          rules::index_out_of_bounds(item.index, original, size, {0});
        if (advanced) {
          index_dimension(result, dim++, ops::to(Tensor::number(item.index), DType::I64));
        } else {
          result.view = ops::select(result.view, dim, item.index);
        }
        break;
      }
      case Kind::Slice: {
        result.view = sliced(result.view, dim, item);
        ++dim;
        break;
      }
      case Kind::Ellipsis:
        dim += rest;
        original += rest;
        break;
      case Kind::NewAxis:
        result.view = ops::unsqueeze(result.view, dim++);
        break;
      case Kind::Tensor: {
        const bool number = item.tensor.dtype() == DType::Bool && item.tensor.rank() == 0;
        number ? index_by_bool(result, dim, item.tensor) : index_dimension(result, dim, item.tensor);
        dim += std::max(consumed(item), 1);
        break;
      }
    }
    original += consumed(item);
  }
  return result;
}

// Drops sizes of 1 in front that the target does not have.
Tensor fit_value(const Tensor& value, int rank) {
  Tensor result = value;
  while (result.rank() > rank && result.size(0) == 1) result = ops::select(result, 0, 0);
  return result;
}

// How many dimensions `view[indices]` has.
int picked_rank(const Resolved& resolved) {
  static const Op& row = core_ops().index;
  std::vector<TensorType> types{resolved.view.type()};
  for (const Tensor& index : resolved.indices)
    types.push_back(index ? index.type() : TensorType{DType::Bool, Device{}, {}, true});
  return static_cast<int>(row.infer(types, Attrs(row)).front().sizes.size());
}

}  // namespace

IndexItem IndexItem::integer(Dim value) {
  IndexItem item;
  item.kind = Kind::Int;
  item.index = value;
  return item;
}
IndexItem IndexItem::slice(std::optional<Dim> start, std::optional<Dim> stop, std::optional<Dim> step) {
  IndexItem item;
  item.kind = Kind::Slice;
  item.start = start;
  item.stop = stop;
  item.step = step;
  return item;
}
IndexItem IndexItem::ellipsis() { return {}; }
IndexItem IndexItem::new_axis() {
  IndexItem item;
  item.kind = Kind::NewAxis;
  return item;
}
IndexItem IndexItem::of(kiln::Tensor index) {
  IndexItem item;
  item.kind = Kind::Tensor;
  item.tensor = std::move(index);
  return item;
}

Tensor get_index(const Tensor& x, std::span<const IndexItem> items) {
  const Resolved resolved = resolve(x, items);
  if (resolved.advanced) return ops::index(resolved.view, resolved.indices);
  // `x[...]` is a new view as well.
  return resolved.view.is_same(x) ? ops::view(x, x.sizes()) : resolved.view;
}

void set_index(const Tensor& x, std::span<const IndexItem> items, const Tensor& value) {
  const Resolved resolved = resolve(x, items);
  if (!resolved.advanced) {
    const Tensor fitted = fit_value(value, resolved.view.rank());
    if (!broadcastable_to(fitted.sizes(), resolved.view.sizes()))
      throw OpError(ErrorKind::Shape,
                    "a " + to_string(value.type()) + " does not broadcast to the place it is written to, a " +
                        to_string(resolved.view.type()),
                    {0});
    ops::copy_(resolved.view, fitted);
    return;
  }
  static const Op& row = core_ops().index_put;
  Tensors inputs{resolved.view, fit_value(value, picked_rank(resolved))};
  inputs.append(resolved.indices.begin(), resolved.indices.end());
  kiln::bind_inplace(row, inputs, Attrs(row));
}

}  // namespace kiln
