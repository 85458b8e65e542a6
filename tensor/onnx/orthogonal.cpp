// Orthonormal bases over smaller ops, by Householder's reflections.
#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/onnx/unrolled.h"

namespace kiln::onnx_rules {
namespace {

using linalg::columns_of;
using linalg::rows_of;
using linalg::t;

// x - scale * vector vector.t() x, which is beta, 0, 0, … for the column that it was made of.
struct Reflection {
  Tensor vector, scale, beta;

  Tensor of(const Tensor& x) const { return x - ops::matmul(scale * vector, ops::matmul(t(vector), x)); }
};

// As LAPACK's larfg: beta has the other sign than the first element, and a column that is beta already stays.
Reflection reflection_of(const Tensor& x) {
  const Tensor zero = Tensor::number(0.0), one = Tensor::number(1.0);
  const Tensor first = some_rows(x, 0, 1), others = trailing(x, 1, 0);
  const Dims along{x.rank() - 2};
  const Tensor largest = ops::amax(ops::abs(x), along, true);
  const Tensor unit = ops::where(ops::eq(largest, zero), one, largest);
  const Tensor is_done = ops::eq(ops::amax(ops::abs(others), along, true), zero);
  const Tensor norm = unit * ops::sqrt(ops::sum(ops::square(x / unit), along, true));
  const Tensor beta = ops::where(is_done, first, ops::where(ops::lt(first, zero), norm, -norm));
  const Tensor parts[] = {ops::ones_like(first), others / ops::where(is_done, one, first - beta)};
  return {below(parts), ops::where(is_done, zero, (beta - first) / ops::where(is_done, one, beta)), beta};
}

// Of a matrix x: [1 0; 0 x].
Tensor with_unit_corner(const Tensor& x) {
  const std::int64_t rows = rows_of(x).fixed(), columns = columns_of(x).fixed();
  const Tensor first[] = {zero_block(x, 1, 1) + 1.0, zero_block(x, 1, columns)};
  const Tensor second[] = {zero_block(x, rows, 1), x};
  const Tensor parts[] = {beside(first), beside(second)};
  return below(parts);
}

// Ones on the diagonal.
Tensor unit_block(const Tensor& like, std::int64_t rows, std::int64_t columns) {
  const Tensor square = linalg::eye(std::max(rows, columns), like.type());
  return zero_block(like, rows, columns) + some_columns(some_rows(square, 0, rows), 0, columns);
}

}  // namespace

Orthogonal orthogonal_factors(const Op& op, const Tensor& x, std::int64_t columns) {
  const std::int64_t m = unrolled_size(op, x, 1), n = unrolled_size(op, x, 0);
  const std::int64_t steps = std::min(m - 1, n);  // a single element stays
  std::vector<Reflection> reflections;
  Tensors rows;
  Tensor rest = x;
  for (std::int64_t k = 0; k < steps; ++k) {
    reflections.push_back(reflection_of(some_columns(rest, 0, 1)));
    const Tensor others = reflections.back().of(trailing(rest, 0, 1));
    const Tensor row[] = {zero_block(x, 1, k), reflections.back().beta, some_rows(others, 0, 1)};
    rows.push_back(beside(row));
    rest = trailing(others, 1, 0);
  }
  const std::int64_t done = std::max<std::int64_t>(steps, 0);
  const Tensor last[] = {zero_block(x, m - done, done), rest};
  rows.push_back(beside(last));
  Tensor q = unit_block(x, m - done, columns - done);
  for (std::int64_t k = done; k-- > 0;) q = reflections[static_cast<std::size_t>(k)].of(with_unit_corner(q));
  return {q, below(rows)};
}

Tensors qr(const Op& op, Inputs inputs, const Attrs& attrs) {
  const Tensor& x = inputs[0];
  const std::string& mode = attrs.get<std::string>("mode");
  const std::int64_t m = unrolled_size(op, x, 1), n = unrolled_size(op, x, 0);
  const std::int64_t rank = mode == "complete" ? m : std::min(m, n);
  const Orthogonal factors = orthogonal_factors(op, x, rank);
  const Tensor q = mode == "r" ? ops::zeros(Dims{0}, x.dtype(), x.device()) : factors.q;
  return {q, some_rows(factors.r, 0, rank)};
}

Tensors complement(const Op& op, Inputs inputs, const Attrs&) {
  const std::int64_t m = unrolled_size(op, inputs[0], 1), k = unrolled_size(op, inputs[0], 0);
  return {some_columns(orthogonal_factors(op, inputs[0], m).q, k, m - k)};
}

}  // namespace kiln::onnx_rules
