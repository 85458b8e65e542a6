// Owns the list of the ONNX rules that rows name: functions that write nodes, and bodies over smaller ops.
#pragma once

#include "tensor/onnx/nodes.h"

namespace kiln::onnx_rules {

// ---- tensor/onnx/elementwise.cpp: nodes ----
OnnxValues rounding(const OnnxApplication& app);  // floor, ceil, round, trunc; integers stay as they are
OnnxValues gelu(const OnnxApplication& app);
OnnxValues bitwise_not(const OnnxApplication& app);
OnnxValues floor_div(const OnnxApplication& app);
OnnxValues trunc_div(const OnnxApplication& app);
OnnxValues remainder(const OnnxApplication& app);
OnnxValues clamp(const OnnxApplication& app);
OnnxValues first_operand(const OnnxApplication& app);   // as large as the result
OnnxValues second_operand(const OnnxApplication& app);  // likewise

// ---- tensor/onnx/elementwise_bodies.cpp ----
Tensors lgamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors digamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors polygamma(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors logit(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors nan_to_num(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors div_rounded(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors atan2(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors hypot(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors copysign(const Op& op, Inputs inputs, const Attrs& attrs);

// ---- tensor/onnx/complex.cpp: complex values are pairs of parts in one more dimension ----
OnnxValues joined_parts(const OnnxApplication& app);    // complex
OnnxValues real_part(const OnnxApplication& app);       // real
OnnxValues imaginary_part(const OnnxApplication& app);  // imag
OnnxValues pairs(const OnnxApplication& app);           // view_as_real, view_as_complex
// Any other row on complex operands: what moves elements does so with the parts one by one. Throws OpError
// (Capture) for one that does not.
OnnxValues moved_in_parts(const OnnxApplication& app);

// ---- tensor/onnx/create.cpp ----
OnnxValues zeros(const OnnxApplication& app);  // also of what has no elements yet, and of `zero`
OnnxValues ones(const OnnxApplication& app);
OnnxValues full_of_operand(const OnnxApplication& app);    // the last operand, everywhere
OnnxValues full_of_attribute(const OnnxApplication& app);  // `fill_value`
OnnxValues arange(const OnnxApplication& app);
OnnxValues linspace(const OnnxApplication& app);
OnnxValues eye(const OnnxApplication& app);
OnnxValues triangle(const OnnxApplication& app);  // tril, triu
OnnxValues one_hot(const OnnxApplication& app);

// ---- tensor/onnx/reduce.cpp ----
OnnxValues sum(const OnnxApplication& app);
OnnxValues prod(const OnnxApplication& app);
OnnxValues amax(const OnnxApplication& app);
OnnxValues amin(const OnnxApplication& app);
OnnxValues extremum_along(const OnnxApplication& app);     // max.dim, min.dim
OnnxValues place_of_extremum(const OnnxApplication& app);  // argmax, argmin
OnnxValues cumsum(const OnnxApplication& app);
OnnxValues cumprod(const OnnxApplication& app);
OnnxValues cumulative_extremum(const OnnxApplication& app);  // cummax, cummin
OnnxValues softmax(const OnnxApplication& app);              // also log_softmax

// ---- tensor/onnx/shape.cpp ----
OnnxValues identity(const OnnxApplication& app);
OnnxValues cast(const OnnxApplication& app);
OnnxValues reshape(const OnnxApplication& app);  // to the sizes of the result
OnnxValues expand(const OnnxApplication& app);   // likewise
OnnxValues permute(const OnnxApplication& app);
OnnxValues transpose(const OnnxApplication& app);  // also t
OnnxValues squeeze(const OnnxApplication& app);
OnnxValues unsqueeze(const OnnxApplication& app);
OnnxValues cat(const OnnxApplication& app);
OnnxValues stack(const OnnxApplication& app);
OnnxValues flip(const OnnxApplication& app);
OnnxValues constant_pad(const OnnxApplication& app);

// ---- tensor/onnx/pieces.cpp ----
OnnxValues slice(const OnnxApplication& app);
OnnxValues select(const OnnxApplication& app);
OnnxValues split(const OnnxApplication& app);  // also chunk
OnnxValues unbind(const OnnxApplication& app);
OnnxValues diagonal(const OnnxApplication& app);
OnnxValues as_strided(const OnnxApplication& app);
OnnxValues unfold(const OnnxApplication& app);
OnnxValues slice_scatter(const OnnxApplication& app);
OnnxValues select_scatter(const OnnxApplication& app);
OnnxValues diagonal_scatter(const OnnxApplication& app);
OnnxValues as_strided_scatter(const OnnxApplication& app);

// ---- tensor/onnx/index.cpp ----
OnnxValues gather(const OnnxApplication& app);
OnnxValues scatter(const OnnxApplication& app);
OnnxValues scatter_add(const OnnxApplication& app);
OnnxValues scatter_reduce(const OnnxApplication& app);
OnnxValues index_select(const OnnxApplication& app);
OnnxValues index_add(const OnnxApplication& app);
OnnxValues embedding(const OnnxApplication& app);
OnnxValues index(const OnnxApplication& app);
OnnxValues index_put(const OnnxApplication& app);
OnnxValues sort(const OnnxApplication& app);
OnnxValues topk(const OnnxApplication& app);
OnnxValues searchsorted(const OnnxApplication& app);

// ---- tensor/onnx/products.cpp ----
OnnxValues matmul(const OnnxApplication& app);  // also mm, bmm, mv, dot
OnnxValues linear(const OnnxApplication& app);
OnnxValues einsum(const OnnxApplication& app);

// ---- Linear algebra over smaller ops, unrolled over sizes of at most 32 ----
// tensor/onnx/solves.cpp
Tensors inv(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors solve(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors solve_triangular(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors slogdet(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors cholesky(const Op& op, Inputs inputs, const Attrs& attrs);
// tensor/onnx/orthogonal.cpp
Tensors qr(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors complement(const Op& op, Inputs inputs, const Attrs& attrs);
// tensor/onnx/jacobi.cpp
Tensors eigh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors eigvalsh(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors thin_svd(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors svdvals(const Op& op, Inputs inputs, const Attrs& attrs);

// ---- tensor/onnx/convolution.cpp ----
OnnxValues convolution(const OnnxApplication& app);
OnnxValues convolution_input(const OnnxApplication& app);
OnnxValues convolution_weight(const OnnxApplication& app);

// ---- tensor/onnx/norms.cpp: no value where the opset has no such operator, so that the body is written ----
OnnxValues layer_norm(const OnnxApplication& app);
OnnxValues group_norm(const OnnxApplication& app);

// ---- tensor/onnx/pools.cpp ----
OnnxValues max_pool(const OnnxApplication& app);  // with indices
OnnxValues max_pool_backward(const OnnxApplication& app);
OnnxValues average_pool(const OnnxApplication& app);
OnnxValues average_pool_backward(const OnnxApplication& app);
OnnxValues adaptive_average_pool(const OnnxApplication& app);
OnnxValues adaptive_average_pool_backward(const OnnxApplication& app);

// ---- tensor/onnx/fourier.cpp ----
OnnxValues dft(const OnnxApplication& app);
Tensors rdft(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors irdft(const Op& op, Inputs inputs, const Attrs& attrs);

// ---- tensor/onnx/random.cpp ----
OnnxValues draw(const OnnxApplication& app);

// ---- tensor/onnx/collectives.cpp: what they are for one rank ----
Tensors reduced_alone(const Op& op, Inputs inputs, const Attrs& attrs);  // each tensor, scaled
Tensors moved_alone(const Op& op, Inputs inputs, const Attrs& attrs);    // the tensor
Tensors extremal_alone(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors allgather(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors reducescatter(const Op& op, Inputs inputs, const Attrs& attrs);
Tensors alltoall(const Op& op, Inputs inputs, const Attrs& attrs);

// Why rows whose results have sizes that depend on elements have no form.
inline constexpr std::string_view kNoGraph =
    "the size of its result depends on elements, and graphs end in front of it";

}  // namespace kiln::onnx_rules
