// Owns what the pooling ops share: where their windows lie, their types, and folding a batch into images.
#pragma once

#include "tensor/cpu/convolution/pooling.h"
#include "tensor/functions.h"

namespace kiln::ops {

// Height and width of [n, channels, height, width] or [channels, height, width]; throws OpError (Shape) for
// other ranks and for planes without elements.
Dims plane_sizes(const TensorType& x, const Attrs& attrs);
// x's type with planes of other sizes.
TensorType with_planes(const TensorType& x, const Dims& planes);
// Throws OpError (DType) for bool.
void need_order(const TensorType& x, const Attrs& attrs);

// The windows along one dimension of a pool of the given kernel, from the attributes kernel_size, stride,
// padding, ceil_mode and, where there are, dilation and count_include_pad.
cpu::Windows pool_windows(const Dims& planes, std::size_t dim, const Attrs& attrs);
// Those of an adaptive pool, from the attribute output_size: place i of n covers [i * size / n, (i + 1) *
// size / n), rounded outwards. -1 keeps the size.
cpu::Windows adaptive_windows(const Dims& planes, std::size_t dim, const Attrs& attrs);
using WindowsFn = cpu::Windows (*)(const Dims& planes, std::size_t dim, const Attrs& attrs);
// The planes of the results: how many windows there are, without them.
Dims count_windows(WindowsFn windows, const Dims& planes, const Attrs& attrs);

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
