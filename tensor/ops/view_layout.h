// Owns where the elements of views lie: one layout rule per view op, and the arithmetic of reshaping.
#pragma once

#include <optional>

#include "tensor/op.h"

namespace kiln {

// Sizes with a -1 resolved; throws OpError (Shape) when `count` elements do not fill them.
Dims resolve_sizes(std::span<const Dim> sizes, std::span<const Dim> from, std::string_view op);
// Strides that read `layout` as `sizes` without moving an element; nothing when there are none.
std::optional<Dims> view_strides(const Layout& layout, std::span<const Dim> sizes);
// Target sizes of an expand: -1 keeps a size. Throws OpError (Shape).
Dims expand_sizes(std::span<const Dim> from, std::span<const Dim> to, std::string_view op);

// A half-open range with a step, clipped to a size as Python does.
struct Range {
  Dim start;
  Dim end;
  Dim step;
  Dim length;
};
Range clip_range(std::optional<Dim> start, std::optional<Dim> end, Dim step, Dim size);
// Throws OpError (Index) when outside of [-size, size).
Dim wrap_index(Dim index, int dim, Dim size);
// Lengths of the pieces of a split along a dimension of `size`.
Dims split_lengths(std::span<const Dim> sizes, Dim size);
Dims chunk_lengths(Dim chunks, Dim size);

std::vector<Layout> view_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> permute_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> transpose_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> t_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> expand_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> squeeze_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> unsqueeze_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> detach_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> slice_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> select_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> diagonal_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> split_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> chunk_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> unbind_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> as_strided_layout(const Layout& input, const Attrs& attrs);
std::vector<Layout> unfold_layout(const Layout& input, const Attrs& attrs);

// Throws OpError (Value, Index) where places that as_strided_scatter is to write overlap, or are not all
// within a storage of so many elements.
void check_scattered_places(const Layout& piece, std::int64_t limit);

}  // namespace kiln
