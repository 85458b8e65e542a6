// Owns how kernels read operands and give results: dense operands, and results that are computed in another
// dtype.
#pragma once

#include "tensor/backend.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// Plain tensors in and out: nothing is recorded.

// A copy in another dtype, or `x`.
Tensor cast(const Tensor& x, DType dtype);
// Contiguous and of a dtype; `x` itself when it is both.
Tensor dense(const Tensor& x, DType dtype);
// A contiguous tensor read with other sizes of as many elements.
Tensor with_sizes(const Tensor& x, const IntDims& sizes);

// Where a kernel computes a result in `dtype`: the contiguous `output` itself when it has that dtype.
// `finish` gives what was computed there to the output.
Tensor computed_in(const Tensor& output, DType dtype);
void finish(const Tensor& output, const Tensor& computed);

// Computes the body of the op instead: for operands that a kernel finds out it does not take.
void compute_by_body(const Op& op, const Attrs& attrs, Inputs inputs, Outputs outputs);

// Is the output the input itself, as of an in-place form?
bool is_inplace(const Tensor& output, const Tensor& input);
// What is read while `output` is written must not be stored there too.
Tensor away_from(const Tensor& source, const Tensor& output);

// Writes f(element) over a contiguous f32 or f64 tensor.
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

}  // namespace kiln::cpu
