// Owns `x[…]` and `x[…] = v`: what a list of ints, slices, `...`, `none` and tensors in brackets means.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace kiln {

struct IndexItem {
  enum class Kind : std::uint8_t { Int, Slice, Ellipsis, NewAxis, Tensor };
  Kind kind = Kind::Ellipsis;
  Dim index = 0;                         // Int
  std::optional<Dim> start, stop, step;  // Slice
  kiln::Tensor tensor;                   // Tensor: integers or a mask

  static IndexItem integer(Dim value);
  static IndexItem slice(std::optional<Dim> start, std::optional<Dim> stop, std::optional<Dim> step = {});
  static IndexItem ellipsis();
  static IndexItem new_axis();
  static IndexItem of(kiln::Tensor index);
};

// `x[items]`. Without tensors a view made by view ops; with tensors a copy, mixed as NumPy does: ints next to
// tensors are indices as well, and indices that are not adjacent put their shape first. Throws OpError
// (Index) for places outside of a dimension and for too many items, with operand 0 the tensor.
Tensor get_index(const Tensor& x, std::span<const IndexItem> items);

// `x[items] = value`: writes in place, through views, cast to the dtype of x and broadcast (sizes of 1 in
// front of the value are dropped). The tape sees it. Throws OpError (Index, Shape).
void set_index(const Tensor& x, std::span<const IndexItem> items, const Tensor& value);

}  // namespace kiln
