// Owns sizes, strides and layouts, and the arithmetic on them that every op's shape rule uses.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/small_vector.h"

namespace kiln {

// A size of a dimension. Shape rules are written over this type alone, so that a symbolic size can take its
// place.
using Dim = std::int64_t;
using Dims = SmallVector<Dim, 5>;

inline constexpr int kMaxRank = 64;

// Where the elements of a tensor are: element (i, j, …) is at offset + i*strides[0] + j*strides[1] + …
// Strides and offset count elements, strides are never negative.
struct Layout {
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;

  int rank() const { return static_cast<int>(sizes.size()); }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Number of elements; throws OpError (Overflow) when it does not fit, (Value) for a negative size.
std::int64_t count_elements(std::span<const Dim> sizes);
Dims contiguous_strides(std::span<const Dim> sizes);
bool is_contiguous(const Layout& layout);
// Two different indices reach the same element (stride 0 with size > 1, overlapping windows).
bool has_overlap(const Layout& layout);
// Smallest and largest element offset + 1 that the layout touches; {offset, offset} when empty.
std::pair<std::int64_t, std::int64_t> extent(const Layout& layout);

// A dimension counted from the end becomes one from the front; throws OpError (Index) naming op, dim and
// rank. A 0-d tensor accepts 0 and -1.
int wrap_dim(std::int64_t dim, int rank, std::string_view op);
// Sorted, unique, wrapped; empty means all. Throws OpError for duplicates.
Dims wrap_dims(std::span<const Dim> dims, int rank, std::string_view op);

// NumPy broadcasting of two shapes; throws OpError (Shape) naming op, both shapes and the axis.
Dims broadcast(std::span<const Dim> a, std::span<const Dim> b, std::string_view op);
bool broadcastable_to(std::span<const Dim> from, std::span<const Dim> to);
// The layout read as if it had sizes `to`: stride 0 along broadcast dimensions.
Layout broadcast_layout(const Layout& layout, std::span<const Dim> to);

std::string to_string(std::span<const Dim> sizes);                 // "[3, 4]"
std::string type_string(DType dtype, std::span<const Dim> sizes);  // "f32[3, 4]"

}  // namespace kiln
