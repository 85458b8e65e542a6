// Owns how the elements of complex tensors lie in memory: the parts of each side by side.
#pragma once

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace kiln {

// The same memory as pairs of parts, along a last dimension.
inline Tensor as_pairs(const Tensor& z) {
  Layout layout = z.layout();
  layout.offset = layout.offset * 2;
  for (Dim& stride : layout.strides) stride = stride * 2;
  layout.sizes.push_back(2);
  layout.strides.push_back(1);
  return Tensor::alias(z, layout, part_of(z.dtype()));
}

// The real (0) or imaginary (1) parts where they lie.
inline Tensor part_in_memory(const Tensor& z, int which) {
  Layout layout = z.layout();
  layout.offset = layout.offset * 2 + which;
  for (Dim& stride : layout.strides) stride = stride * 2;
  return Tensor::alias(z, layout, part_of(z.dtype()));
}

// Writes `source` into complex elements by copies and fills of numbers of parts.
template <class Copy, class Fill>
void copy_parts(const Tensor& target, const Tensor& source, const Copy& copy, const Fill& fill) {
  if (!is_complex(target.dtype()))
    throw InternalError("copy of " + to_string(source.type()) + " into " + to_string(target.type()));
  if (is_complex(source.dtype())) return copy(as_pairs(target), as_pairs(source));
  copy(part_in_memory(target, 0), source);
  fill(part_in_memory(target, 1), Tensor::number(false));
}

}  // namespace kiln
