// Owns sizes, strides and layouts, and the arithmetic on them that every op's shape rule uses.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tensor/dim.h"
#include "tensor/dtype.h"
#include "tensor/small_vector.h"

namespace kiln {

using Dims = SmallVector<Dim, 5>;
// The sizes at these values of the symbols; throws as for one.
Dims evaluate(std::span<const Dim> sizes, const SymbolValues& values);

// Sizes or strides as kernels read them: ints, so that loops ask nothing. Made of `Dims` at a kernel's door,
// which fixes a symbolic one.
class IntDims : public SmallVector<std::int64_t, 5> {
 public:
  using SmallVector::SmallVector;
  IntDims(std::span<const Dim> sizes) {
    for (const Dim each : sizes) push_back(each.fixed());
  }
  IntDims(std::span<const std::int64_t> sizes) : SmallVector(sizes.begin(), sizes.end()) {}
  IntDims(const Dims& sizes) : IntDims(std::span<const Dim>(sizes)) {}
  operator std::span<const Dim>() const { return dims(*this); }
  operator Dims() const { return Dims(begin(), end()); }
};

inline constexpr int kMaxRank = 64;

// Where the elements of a tensor are: element (i, j, …) is at offset + i*strides[0] + j*strides[1] + …
// Strides and offset count elements, strides are never negative.
struct Layout {
  Dims sizes;
  Dims strides;
  Dim offset = 0;

  int rank() const { return static_cast<int>(sizes.size()); }
  friend bool operator==(const Layout&, const Layout&) = default;
  // As `same` of each size and stride, and of the offset.
  friend bool same(const Layout& a, const Layout& b) {
    return same(a.sizes, b.sizes) && same(a.strides, b.strides) && same(a.offset, b.offset);
  }
};

// A layout as kernels read it: ints, made of a Layout at their door.
struct IntLayout {
  IntDims sizes;
  IntDims strides;
  std::int64_t offset = 0;

  IntLayout(const Layout& layout) : sizes(layout.sizes), strides(layout.strides), offset(layout.offset) {}
  int rank() const { return static_cast<int>(sizes.size()); }
};

// Number of elements; throws OpError (Overflow) when it does not fit, (Value) for a negative size.
Dim count_elements(std::span<const Dim> sizes);
template <std::same_as<IntDims> Sizes>
std::int64_t count_elements(const Sizes& sizes) {
  return count_elements(dims(sizes));
}
Dims contiguous_strides(std::span<const Dim> sizes);
bool is_contiguous(const Layout& layout);
// Has it the strides that `contiguous_strides` gives, also where a dimension has one element or none and any
// stride would do? Asks nothing of symbols.
bool is_row_major(const Layout& layout);
// Two different indices reach the same element (stride 0 with size > 1, overlapping windows).
bool has_overlap(const Layout& layout);
// The layout in this call, as ints, without a guard; at these values of the symbols.
Layout at_hints(const Layout& layout);
Layout evaluate(const Layout& layout, const SymbolValues& values);
// Smallest and largest element offset + 1 that the layout touches; {offset, offset} when empty.
std::pair<Dim, Dim> extent(const Layout& layout);

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
std::string text_of(std::span<const Dim> sizes);                   // "[s0, 4]", also where a call is recorded
std::string type_string(DType dtype, std::span<const Dim> sizes);  // "f32[3, 4]"

}  // namespace kiln
