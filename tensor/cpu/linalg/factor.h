// Owns factorizations of batches of matrices on the CPU, f32, f64, c64 and c128, and what is computed from
// them. Bits depend on the elements alone: not on layouts, addresses, the place in a batch or the number of
// threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace kiln::cpu {

// All results are contiguous, of a's dtype, and sized as said; singular values, eigenvalues of symmetric
// matrices, logarithms and parts are real numbers. Of complex matrices `.t()` stands for the adjoint,
// symmetric for Hermitian, and columns of u and eigenvectors have a largest element that is real and
// positive.

// The first matrix of the batch that has no result, or -1. `info` is LAPACK's: which pivot or minor failed.
struct Factored {
  std::int64_t failed = -1;
  int info = 0;
};
Factored first_failure(std::span<const int> infos);

// Of a[..., n, n], by LU factorization with partial pivoting. `info`: the pivot that is zero.
void determinant(const Tensor& result, const Tensor& a);
// Of a[..., m, n]: both factors in one matrix, and which row, from 1, each was swapped with (i32).
void lu_factors(const Tensor& packed, const Tensor& pivots, const Tensor& a);
void sign_and_log_determinant(const Tensor& sign, const Tensor& log, const Tensor& a);
Factored inverse(const Tensor& result, const Tensor& a);
// The x with a x = b for b[..., n, k], or x a = b for b[..., k, n]; batches broadcast.
Factored solve(const Tensor& result, const Tensor& a, const Tensor& b, bool left);

// Likewise for a triangular `a`, of which only that triangle is read. A zero on the diagonal divides by zero.
struct Triangle {
  bool upper;
  bool unit;  // the diagonal counts as ones and is not read
};
void solve_triangular(const Tensor& result, const Tensor& a, const Tensor& b, Triangle triangle, bool left);

// The lower triangular l with l l.t() == a, from the lower triangle of a; or the upper u with u.t() u == a,
// from the upper one. `info`: the order of the minor that is not positive.
Factored cholesky(const Tensor& result, const Tensor& a, bool upper);

// q r = a[..., m, n] with orthonormal columns of q and upper triangular r, by Householder reflections, with
// k = min(m, n): q[m, k] and r[k, n]; or q[m, m] and r[m, n]; or only r[k, n], and q absent.
void qr(const Tensor& q, const Tensor& r, const Tensor& a);
// Orthonormal columns [..., m, m - k] orthogonal to those of q[..., m, k].
void complement(const Tensor& result, const Tensor& q);

// u[m, k], s[k], vh[k, n] with u diag(s) vh = a[..., m, n], s falling, by divide and conquer; or s alone, u
// and vh absent. `info` < 0: an element is not finite; > 0: no convergence.
Factored svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& a);
// Rising eigenvalues and orthonormal eigenvectors (columns) of symmetric matrices, of which one triangle is
// read; or the values alone, vectors absent. `info` as for `svd`.
Factored eigh(const Tensor& values, const Tensor& vectors, const Tensor& a, bool upper);

// Eigenvalues [n] of general matrices, in any order, and eigenvectors [n, n] as columns of length 1, by their
// parts; or the values alone, vectors absent. `info` as for `svd`.
struct EigenParts {
  Tensor real, imaginary, vectors_real, vectors_imaginary;
};
Factored eig(const EigenParts& out, const Tensor& a);

}  // namespace kiln::cpu
