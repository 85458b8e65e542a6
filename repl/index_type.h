// Owns the shape of `x[…]` from the shapes and bounds in the index.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "tensor/tensor.h"

namespace kiln::repl {

struct IndexItem {
  enum class Kind { Int, Slice, NewDim, Rest, Tensor };
  Kind kind;
  std::array<std::optional<std::int64_t>, 3> bounds;  // Int: the index, when known; Slice: start, stop, step
  TensorType tensor;                                  // Tensor: what picks
};

// Follows the language: ints drop a dimension, slices shorten it, integer tensors pick (NumPy's placing).
// Throws Unknown when the shape depends on data (a mask), OpError when the index does not fit.
TensorType index_type(const TensorType& type, std::span<const IndexItem> items);

}  // namespace kiln::repl
