// Owns the convolution as the other ops see it: its options, its sizes, and the three primitives that are
// each other's derivatives.
#pragma once

#include <string>
#include <string_view>

#include "tensor/functions.h"

namespace kiln::ops {

// One entry per spatial dimension.
struct ConvOptions {
  Dims stride, padding, dilation;
  std::int64_t groups = 1;
};

// The name a user calls an op by: without that of its form.
std::string plain_name(const Attrs& attrs);

// The list in attribute `name`, one entry for each of `count` spatial dimensions: a single one counts for
// all. Throws OpError (Value) for another number of entries or one below `least`.
Dims spatial_list(const Attrs& attrs, std::string_view name, std::size_t count, Dim least);
// Throws OpError (Value) for fewer than one group.
std::int64_t conv_groups(const Attrs& attrs);
ConvOptions conv_options(const Attrs& attrs, std::size_t spatial);

// The sizes after the first two of [n, channels, …].
Dims spatial_sizes(const Dims& sizes);
// Elements from the first to the last that a window touches.
inline Dim window_reach(Dim kernel, Dim dilation) { return (kernel - 1) * dilation + 1; }

// Type rules, which name the op of `attrs` in what they throw. x [n, channels, …], weight [out, channels /
// groups, …], and the same turned around: y [n, out, …] and the spatial sizes of x.
TensorType convolved_type(const TensorType& x, const TensorType& weight, const ConvOptions& options,
                          const Attrs& attrs);
TensorType convolution_input_type(const TensorType& y, const TensorType& weight, const Dims& sizes,
                                  const ConvOptions& options, const Attrs& attrs);
// Throws unless the bias is [channels] and of x's dtype.
void check_conv_bias(const TensorType& bias, const TensorType& x, Dim channels, const Attrs& attrs);
// [channels] read so that it broadcasts against [n, channels, …] of this rank.
Tensor along_channels(const Tensor& v, int rank);

// y = the convolution of x by weight, plus bias where there is one.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
// Its adjoint by x, whose spatial sizes are given: a transposed convolution.
Tensor convolution_input(const Tensor& y, const Tensor& weight, const Dims& sizes,
                         const ConvOptions& options);
// Its adjoint by weight, whose spatial sizes are given.
Tensor convolution_weight(const Tensor& x, const Tensor& y, const Dims& sizes, const ConvOptions& options);

}  // namespace kiln::ops
