// Owns what the pooling ops share: where their windows lie, their types, and folding a batch into images.
#pragma once

#include "tensor/functions.h"
#include "tensor/ops/windows.h"

namespace kiln::ops {

// Height and width of [n, channels, height, width] or [channels, height, width]; throws OpError (Shape) for
// other ranks and for planes without elements.
Dims plane_sizes(const TensorType& x, const Attrs& attrs);
// x's type with planes of other sizes.
TensorType with_planes(const TensorType& x, const Dims& planes);
// Throws OpError (DType) for bool.
void need_order(const TensorType& x, const Attrs& attrs);

// How the windows of a pool lie along one dimension, from the attributes kernel_size, stride, padding,
// ceil_mode and, where there is, dilation. Throws OpError (Shape, Value) for kernels that do not fit.
struct Pool {
  Dim stride, padding, dilation, reach, count;
};
Pool pool_along(const Dims& planes, std::size_t dim, const Attrs& attrs);
// Does the op have output_size in their place? Place i of n then covers [i * size / n, (i + 1) * size / n),
// rounded outwards. -1 keeps the size.
bool is_adaptive(const Attrs& attrs);
Dim adaptive_count(const Dims& planes, std::size_t dim, const Attrs& attrs);
// Where the windows of either kind lie along one dimension.
WindowAxis window_axis(const Dims& planes, std::size_t dim, const Attrs& attrs);
// The planes of the results: how many windows there are.
Dims count_windows(const Dims& planes, const Attrs& attrs);

// What all averages are divided by, from the attribute divisor_override; 0: the places of the window.
std::int64_t average_divisor(const Attrs& attrs);

// Applies the op to all images of all examples as one batch of images. For ops on planes whose inputs all
// have as many images.
Tensors batch_images(const BatchArgs& args);
// x [channels, length] or [n, channels, length] as planes of height 1, and back.
Tensor as_planes(const Tensor& x);
Tensor from_planes(const Tensor& x);
TensorType as_planes(const TensorType& x, const Attrs& attrs);
TensorType from_planes(TensorType x);
// The attributes of a pool of lines as those of one of planes; they keep their op.
Attrs of_planes(const Attrs& attrs);
bool has_attribute(const Attrs& attrs, std::string_view name);

}  // namespace kiln::ops
