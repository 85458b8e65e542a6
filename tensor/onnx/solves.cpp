// Systems of equations, inverses, determinants and Cholesky factors over smaller ops.
#include <algorithm>

#include "tensor/onnx/rules.h"
#include "tensor/onnx/unrolled.h"

namespace kiln::onnx_rules {
namespace {

using linalg::column;
using linalg::columns_of;
using linalg::rows_of;
using linalg::t;
using rules::apply_one;

Tensor first_column(const Tensor& x) { return some_columns(x, 0, 1); }

// Which of the rows has the largest first element: i64[…, 1, 1].
Tensor pivot_of(const Tensor& x) {
  static const Op& argmax = OpTable::get().at("argmax");
  return apply_one(argmax, {ops::abs(first_column(x))}, {std::int64_t{x.rank() - 2}, true});
}

// The rows with the first one and that of the pivot in each other's place.
Tensor exchanged(const Tensor& x, const Tensor& pivot) {
  const Tensor rows = column(ops::arange(0, rows_of(x), 1, DType::I64, x.device()));
  const Tensor zero = Tensor::number(std::int64_t{0});
  const Tensor from =
      ops::where(ops::eq(rows, zero), pivot, ops::where(ops::eq(rows, pivot), ops::zeros_like(rows), rows));
  return ops::gather(x, x.rank() - 2, ops::expand(from, x.sizes()));
}

// Gauss's elimination of n columns with partial pivoting. Row k lacks its first k elements, which are zeros.
// Columns of zeros are passed over.
struct Eliminated {
  Tensors rows;
  Tensors pivots;
};
Eliminated eliminated(Tensor x, std::int64_t n) {
  Eliminated result;
  for (std::int64_t k = 0; k < n; ++k) {
    if (k + 1 < n) {
      result.pivots.push_back(pivot_of(x));
      x = exchanged(x, result.pivots.back());
    }
    const Tensor row = some_rows(x, 0, 1);
    result.rows.push_back(row);
    if (k + 1 == n) break;
    const Tensor factors = linalg::divide_or_zero(first_column(trailing(x, 1, 0)), first_column(row));
    x = trailing(x, 1, 1) - factors * trailing(row, 0, 1);
  }
  return result;
}

// Both with all dimensions of the batch.
struct System {
  Tensor a, b;
};
System with_one_batch(const Op& op, const Tensor& a, const Tensor& b) {
  const Dims batch = broadcast(linalg::batch_sizes(a.sizes()), linalg::batch_sizes(b.sizes()), op.name());
  const auto spread = [&batch](const Tensor& x) {
    Dims sizes = batch;
    sizes.append(x.sizes().end() - 2, x.sizes().end());
    return ops::expand(x, sizes);
  };
  return {spread(a), spread(b)};
}

Tensor solved(const Op& op, const Tensor& a, const Tensor& b) {
  const std::int64_t n = unrolled_size(op, a, 0);
  const Tensor both[] = {a, b};
  const Eliminated upper = eliminated(beside(both), n);
  Tensor x;
  for (std::int64_t k = n; k-- > 0;) {
    const Tensor& row = upper.rows[static_cast<std::size_t>(k)];
    const std::int64_t known = n - k - 1;
    Tensor rest = trailing(row, 0, known + 1);
    if (x) rest = rest - ops::matmul(some_columns(row, 1, known), x);
    const Tensor next = rest / first_column(row);
    Tensors parts{next};
    if (x) parts.push_back(x);
    x = below(parts);
  }
  return x;
}

}  // namespace

Tensors inv(const Op& op, Inputs inputs, const Attrs&) {
  const Tensor& a = inputs[0];
  return {solved(op, a, ops::expand(linalg::eye(columns_of(a), a.type()), a.sizes()))};
}

Tensors solve(const Op& op, Inputs inputs, const Attrs& attrs) {
  const bool is_vector = linalg::is_vector_side(inputs[0].sizes(), inputs[1].sizes());
  const bool is_left = attrs.get<bool>("left");
  const Tensor sides = is_vector ? column(inputs[1]) : inputs[1];
  const System system = with_one_batch(op, is_left ? inputs[0] : t(inputs[0]), is_left ? sides : t(sides));
  const Tensor x = solved(op, system.a, system.b);
  if (is_vector) return {ops::squeeze(x, Dims{x.rank() - 1})};
  return {is_left ? x : t(x)};
}

Tensor solved_by_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const std::int64_t n = columns_of(a).fixed();
  Tensor x;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = upper ? n - 1 - step : step;
    const Tensor row = some_rows(a, k, 1);
    Tensor next = some_rows(b, k, 1);
    if (x) next = next - ops::matmul(some_columns(row, upper ? k + 1 : 0, step), x);
    if (!unit) next = next / some_columns(row, k, 1);
    Tensors parts;
    if (x) parts.push_back(x);
    parts.insert(upper ? parts.begin() : parts.end(), next);
    x = below(parts);
  }
  return x;
}

Tensors solve_triangular(const Op& op, Inputs inputs, const Attrs& attrs) {
  unrolled_size(op, inputs[0], 0);
  const bool is_upper = attrs.get<bool>("upper"), is_unit = attrs.get<bool>("unitriangular");
  const bool is_left = attrs.get<bool>("left");
  const System system =
      with_one_batch(op, is_left ? inputs[0] : t(inputs[0]), is_left ? inputs[1] : t(inputs[1]));
  const Tensor x = solved_by_triangle(system.a, system.b, is_upper == is_left, is_unit);
  return {is_left ? x : t(x)};
}

Tensors slogdet(const Op& op, Inputs inputs, const Attrs&) {
  const Tensor& a = inputs[0];
  const std::int64_t n = unrolled_size(op, a, 0);
  const Dims batch = linalg::batch_sizes(a.sizes());
  Tensor sign = ops::ones(batch, a.dtype(), a.device()), logarithm = ops::zeros(batch, a.dtype(), a.device());
  const Eliminated upper = eliminated(a, n);
  for (const Tensor& row : upper.rows) {
    const Tensor pivot = ops::reshape(first_column(row), batch);
    sign = sign * ops::sign(pivot);
    logarithm = logarithm + ops::log(ops::abs(pivot));
  }
  for (const Tensor& pivot : upper.pivots) {
    const Tensor is_exchanged = ops::gt(ops::reshape(pivot, batch), Tensor::number(std::int64_t{0}));
    sign = ops::where(is_exchanged, -sign, sign);
  }
  return {sign, logarithm};
}

Tensors cholesky(const Op& op, Inputs inputs, const Attrs& attrs) {
  const std::int64_t n = unrolled_size(op, inputs[0], 0);
  const bool is_upper = attrs.get<bool>("upper");
  const Tensor lower = ops::tril(is_upper ? t(inputs[0]) : inputs[0]);
  Tensor rest = lower + t(ops::tril(lower, -1));
  Tensors columns;
  for (std::int64_t k = 0; k < n; ++k) {
    const Tensor root = ops::sqrt(some_rows(first_column(rest), 0, 1));
    Tensors parts{zero_block(rest, k, 1), root};
    if (k + 1 < n) {
      parts.push_back(first_column(trailing(rest, 1, 0)) / root);
      rest = trailing(rest, 1, 1) - parts.back() * t(parts.back());
    }
    columns.push_back(below(parts));
  }
  const Tensor factor = beside(columns);
  return {is_upper ? t(factor) : factor};
}

}  // namespace kiln::onnx_rules
