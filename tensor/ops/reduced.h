// Owns what the reducing ops share: which dimensions go, what shape is left, and the way back.
#pragma once

#include <string_view>

#include "tensor/functions.h"
#include "tensor/parallel.h"

namespace kiln::ops {

// The dimensions an application reduces, wrapped and sorted: those of its attribute `dim`, an index or
// several; absent or empty means all. Throws OpError (Index) for those the input does not have.
Dims reduced_dims(const Attrs& attrs, int rank);
// Sizes with `dims` taken out, or set to 1.
Dims reduced_sizes(const Dims& sizes, const Dims& dims, bool keepdim);
// Product of the sizes along `dims`.
std::int64_t reduced_count(const Dims& sizes, const Dims& dims);
bool keeps_dims(const Attrs& attrs);  // attribute `keepdim`

// The means over `dims`, which stay with size 1, by distances from the first elements: of equal elements it
// is that element, however large. The first elements count as constants: what is measured from them changes
// no derivative. x is of the dtype of computation.
Tensor steady_mean(const Tensor& x, const Dims& dims);
// The first element over `dims` of each result, as fold takes centers: for kernels. None of `dims` is empty.
Tensor first_elements(const Tensor& x, const Dims& dims);

// A contiguous result read with other sizes of as many elements: plain aliasing, no op.
Tensor with_sizes(const Tensor& x, const Dims& sizes);
// Gives a reduced tensor its dimensions of size 1 back, so that it broadcasts against an input of `sizes`.
Tensor restore_dims(const Tensor& y, const Dims& sizes, const Dims& dims);
// A copy in another dtype, or `x`. For kernels: plain tensors in and out, no op.
Tensor cast(const Tensor& x, DType dtype);
// Contiguous and of a dtype; `x` itself when it is both. For kernels, as `cast`.
Tensor dense(const Tensor& x, DType dtype);
// f32 for halves, else `dtype`: what float kernels compute in.
DType compute_dtype(DType dtype);

// Writes f(element) over a fresh contiguous f32 or f64 tensor.
template <class F>
void update(const Tensor& x, const F& f) {
  constexpr std::int64_t kGrain = 16384;
  const auto each = [&]<class T>() {
    T* data = x.writable<T>();
    parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = f(data[i]);
    });
  };
  x.dtype() == DType::F64 ? each.template operator()<double>() : each.template operator()<float>();
}

// Likewise with the elements of another contiguous tensor of the same dtype and size.
template <class F>
void update_with(const Tensor& x, const Tensor& other, const F& f) {
  constexpr std::int64_t kGrain = 16384;
  const auto each = [&]<class T>() {
    T* data = x.writable<T>();
    const T* with = other.data<T>();
    parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = f(data[i], with[i]);
    });
  };
  x.dtype() == DType::F64 ? each.template operator()<double>() : each.template operator()<float>();
}

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
