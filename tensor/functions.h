// Owns the C++ names of the ops: what derivative rules, the standard library's natives and tests call.
// Each checks, promotes, broadcasts and goes through `bind`. Results are new tensors unless said to be views.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tensor/op.h"

namespace kiln {

// Arithmetic in derivative rules reads like mathematics.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator/(const Tensor& a, Dim count);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

namespace ops {

using Ints = std::span<const Dim>;

// Create
Tensor full(Ints sizes, const Tensor& number, DType dtype, Device device = default_device());
Tensor zeros(Ints sizes, DType dtype = default_float(), Device device = default_device());
Tensor ones(Ints sizes, DType dtype = default_float(), Device device = default_device());
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, double value);
Tensor arange(Dim begin, Dim end, Dim step = 1, DType dtype = DType::I64, Device device = default_device());

// Elementwise: one declaration per row of ops/elementwise.def
#define KILN_UNARY(name, ...) Tensor name(const Tensor& x);
#define KILN_BINARY(name, ...) Tensor name(const Tensor& a, const Tensor& b);
#define KILN_TERNARY(name, ...) Tensor name(const Tensor& a, const Tensor& b, const Tensor& c);
#include "tensor/ops/elementwise.def"
#undef KILN_UNARY
#undef KILN_BINARY
#undef KILN_TERNARY
Tensor checked(const Tensor& x, const Tensor& holds, std::string message);
Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);

// Reduce. Empty dims: all.
Tensor sum(const Tensor& x, Ints dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, Ints dims = {}, bool keepdim = false);
Tensor prod(const Tensor& x);
Tensor amax(const Tensor& x, Ints dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, Ints dims = {}, bool keepdim = false);
Tensor any(const Tensor& x);
Tensor all(const Tensor& x);
Tensor logsumexp(const Tensor& x, Ints dims, bool keepdim = false);
Tensor softmax(const Tensor& x, int dim);
Tensor log_softmax(const Tensor& x, int dim);
Tensor cumsum(const Tensor& x, int dim);
Tensor cumprod(const Tensor& x, int dim);
// Sums away what broadcasting added, so that the result has `sizes`. The transpose of `expand`.
Tensor sum_to(const Tensor& x, Ints sizes);

// Views
Tensor view(const Tensor& x, Ints sizes);
Tensor reshape(const Tensor& x, Ints sizes);  // a view when it can be
Tensor permute(const Tensor& x, Ints dims);
Tensor transpose(const Tensor& x, int a, int b);
Tensor expand(const Tensor& x, Ints sizes);
Tensor squeeze(const Tensor& x, Ints dims);
Tensor unsqueeze(const Tensor& x, int dim);
Tensor select(const Tensor& x, int dim, Dim index);
Tensor slice(const Tensor& x, int dim, Dim start, Dim end, Dim step = 1);
Tensor narrow(const Tensor& x, int dim, Dim start, Dim length);
Tensor diagonal(const Tensor& x, Dim offset = 0, int dim1 = 0, int dim2 = 1);
Tensor as_strided(const Tensor& x, Ints sizes, Ints strides, Dim offset);
Tensor unfold(const Tensor& x, int dim, Dim size, Dim step);
Tensor detach(const Tensor& x);
// Pieces of `sizes[0]` each, or of all the sizes given.
Tensors split(const Tensor& x, Ints sizes, int dim = 0);

// Shape, copying
Tensor to(const Tensor& x, DType dtype);  // the same tensor when nothing changes
Tensor to(const Tensor& x, Device device);
Tensor contiguous(const Tensor& x);  // the same tensor when it is contiguous
Tensor clone(const Tensor& x);
Tensor cat(Inputs tensors, int dim = 0);
Tensor stack(Inputs tensors, int dim = 0);
Tensor flip(const Tensor& x, Ints dims);
Tensor tril(const Tensor& x, Dim diagonal = 0);
Tensor triu(const Tensor& x, Dim diagonal = 0);
Tensor slice_scatter(const Tensor& x, const Tensor& source, int dim, Dim start, Dim end, Dim step = 1);
Tensor select_scatter(const Tensor& x, const Tensor& source, int dim, Dim index);
Tensor diagonal_scatter(const Tensor& x, const Tensor& source, Dim offset = 0, int dim1 = 0, int dim2 = 1);
Tensor as_strided_scatter(const Tensor& x, const Tensor& source, Ints sizes, Ints strides, Dim offset);

// Index
Tensor gather(const Tensor& x, int dim, const Tensor& index);
Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
Tensor index_select(const Tensor& x, int dim, const Tensor& index);
Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
// Advanced indexing: absent tensors stand for `:`; bool tensors pick where true.
Tensor index(const Tensor& x, Inputs indices);
Tensor index_put(const Tensor& x, Inputs indices, const Tensor& values, bool accumulate = false);
Tensor embedding(const Tensor& index, const Tensor& weight);
Tensor nonzero(const Tensor& x);  // i64[count, rank]
Tensor argsort(const Tensor& x, int dim = -1, bool descending = false);
Tensor one_hot(const Tensor& index, Dim classes);

// Linear algebra
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor dot(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

// Complex numbers
Tensor complex(const Tensor& real, const Tensor& imaginary);
Tensor real(const Tensor& z);  // a view
Tensor imag(const Tensor& z);  // a view
Tensor view_as_real(const Tensor& z);
Tensor view_as_complex(const Tensor& x);
Tensor conj(const Tensor& z);  // a real tensor itself

// Writes `source`, cast and broadcast, into the elements of `target`, which is returned.
Tensor copy_(const Tensor& target, const Tensor& source);
Tensor fill_(const Tensor& target, const Tensor& number);
Tensor add_(const Tensor& target, const Tensor& other);

}  // namespace ops
}  // namespace kiln
