// Owns what the reducing ops share: which dimensions go, what shape is left, and the way back.
#pragma once

#include <string_view>

#include "tensor/functions.h"

namespace kiln::ops {

// The dimensions an application reduces, wrapped and sorted: those of its attribute `dim`, an index or
// several; absent or empty means all. Throws OpError (Index) for those the input does not have.
Dims reduced_dims(const Attrs& attrs, int rank);
// Sizes with `dims` taken out, or set to 1.
Dims reduced_sizes(const Dims& sizes, const Dims& dims, bool keepdim);
// Product of the sizes along `dims`.
Dim reduced_count(const Dims& sizes, const Dims& dims);
bool keeps_dims(const Attrs& attrs);  // attribute `keepdim`

// The means over `dims`, which stay with size 1, by distances from the first elements: of equal elements it
// is that element, however large. The first elements count as constants: what is measured from them changes
// no derivative. x is of the dtype of computation.
Tensor steady_mean(const Tensor& x, const Dims& dims);

// Gives a reduced tensor its dimensions of size 1 back, so that it broadcasts against an input of `sizes`.
Tensor restore_dims(const Tensor& y, const Dims& sizes, const Dims& dims);
// f32 for halves, else `dtype`: what float kernels compute in.
DType compute_dtype(DType dtype);

// The dtype named by attribute `dtype`, or `otherwise`.
DType dtype_or(const Attrs& attrs, DType otherwise);
double number_attr(const Attrs& attrs, std::string_view name);  // an int, float or bool

// Throws OpError (DType) with a way out unless the elements are floats.
void need_float(const TensorType& x, const Attrs& attrs);
// Throws OpError (Value) when a maximum of nothing is asked for.
void need_elements(const TensorType& x, const Dims& dims, const Attrs& attrs);

// Batching rules: the reduced dimensions move up by one. For `dim: dims?`, for `dim: index`, and for an index
// that may be absent (all).
Tensors batch_reduced_dims(const BatchArgs& args);
Tensors batch_index(const BatchArgs& args);
Tensors batch_optional_index(const BatchArgs& args);
// Forward rule of an op linear in its only differentiable input: the op itself, on the tangent.
Tensors linear_jvp(const JvpArgs& args);

// Applies a row by name from C++: attributes as given, the others at their defaults.
struct NamedAttr {
  std::string_view name;
  Attr value;
};
Tensors apply(const Op& op, Inputs inputs, std::initializer_list<NamedAttr> attrs);

}  // namespace kiln::ops
