// Owns the oracle's matrices, in long double, and what tests of factorizations are made of.
#pragma once

#include <cmath>

#include "nd.h"
#include "tensor/ops/linalg.h"

namespace kiln::test {

// A matrix of a batch in long double.
struct Matrix {
  Dim rows, columns;
  std::vector<long double> values;
  long double at(Dim i, Dim j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};
inline std::vector<Matrix> matrices_of(const Tensor& x) {
  const Nd array = nd_of(x);
  const Dim rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
  std::vector<Matrix> result;
  for (auto at = array.values.begin(); at != array.values.end(); at += rows * columns)
    result.push_back({rows, columns, {at, at + rows * columns}});
  return result;
}
inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, {}};
  for (Dim i = 0; i < a.rows; ++i) {
    for (Dim j = 0; j < b.columns; ++j) {
      long double sum = 0;
      for (Dim k = 0; k < a.columns; ++k) sum += a.at(i, k) * b.at(k, j);
      c.values.push_back(sum);
    }
  }
  return c;
}
inline Matrix transposed(const Matrix& a) {
  Matrix b{a.columns, a.rows, {}};
  for (Dim j = 0; j < a.columns; ++j)
    for (Dim i = 0; i < a.rows; ++i) b.values.push_back(a.at(i, j));
  return b;
}
inline Matrix identity(Dim n) {
  Matrix one{n, n, {}};
  for (Dim i = 0; i < n * n; ++i) one.values.push_back(i % (n + 1) == 0 ? 1 : 0);
  return one;
}
inline long double distance(const Matrix& a, const Matrix& b) {
  REQUIRE(a.values.size() == b.values.size());
  long double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const long double apart = std::abs(a.values[i] - b.values[i]);
    if (!(apart <= worst)) worst = apart;  // a nan is as far as can be
  }
  return worst;
}
inline long double tolerance(const Tensor& x) {
  const long double unit = x.dtype() == DType::F32 ? 0x1p-23L : 0x1p-52L;
  return unit * 40 * (4 + static_cast<long double>(std::max(x.size(x.rank() - 1), x.size(x.rank() - 2))));
}

inline Tensor well_conditioned(const Tensor& x) {
  const Dim n = x.size(x.rank() - 1);
  return x + linalg::eye(n, x.type()) * (2.0 * static_cast<double>(n));
}
inline Tensor positive_definite(const Tensor& x) { return well_conditioned(ops::matmul(x, linalg::t(x))); }

}  // namespace kiln::test
