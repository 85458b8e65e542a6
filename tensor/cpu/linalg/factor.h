// Owns factorizations of batches of matrices on the CPU, f32 and f64, and what is computed from them. Bits
// depend on the elements alone: not on layouts, addresses, the place in a batch or the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace kiln::cpu {

// Results, and the first matrix of the batch that has none. `info` is LAPACK's: which pivot or minor failed.
struct Factored {
  Tensors outputs;
  std::int64_t failed = -1;
  int info = 0;
};
Factored first_failure(Tensors outputs, std::span<const int> infos);

// Of a[..., n, n], by LU factorization with partial pivoting. `info`: the pivot that is zero.
Tensor determinant(const Tensor& a);
Tensors sign_and_log_determinant(const Tensor& a);
Factored inverse(const Tensor& a);
// The x with a x = b for b[..., n, k], or x a = b for b[..., k, n]; batches broadcast.
Factored solve(const Tensor& a, const Tensor& b, bool left);

// Likewise for a triangular `a`, of which only that triangle is read. A zero on the diagonal divides by zero.
struct Triangle {
  bool upper;
  bool unit;  // the diagonal counts as ones and is not read
};
Tensor solve_triangular(const Tensor& a, const Tensor& b, Triangle triangle, bool left);

// The lower triangular l with l l.t() == a, from the lower triangle of a; or the upper u with u.t() u == a,
// from the upper one. `info`: the order of the minor that is not positive.
Factored cholesky(const Tensor& a, bool upper);

// q r = a[..., m, n] with orthonormal columns of q and upper triangular r, by Householder reflections, with
// k = min(m, n): q[m, k] and r[k, n]; or q[m, m] and r[m, n]; or only r[k, n], and q[0].
enum class QrMode : std::uint8_t { Reduced, Complete, OnlyR };
Tensors qr(const Tensor& a, QrMode mode);
// Orthonormal columns [..., m, m - k] orthogonal to those of q[..., m, k].
Tensor complement(const Tensor& q);

// u[m, k], s[k], vh[k, n] with u diag(s) vh = a[..., m, n], s falling, by divide and conquer; or s alone.
// `info` < 0: an element is not finite; > 0: no convergence.
Factored svd(const Tensor& a, bool vectors);
// Rising eigenvalues and orthonormal eigenvectors (columns) of symmetric matrices, of which one triangle is
// read; or the values alone. `info` as for `svd`.
Factored eigh(const Tensor& a, bool upper, bool vectors);

}  // namespace kiln::cpu
