// Owns the routines of LAPACK and BLAS that the factorizations are made of: OpenBLAS's, found at first use.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tensor/cpu/linalg/numbers.h"

namespace kiln::cpu {

// Matrices are column-major, columns `ld…` apart; every call runs in the calling thread. What LAPACK calls
// `info` is returned: 0, or the order of the minor, pivot or value that failed. Letters are those of the
// reference (netlib.org/lapack): side 'L' or 'R', triangle 'U' or 'L', transposed 'N' or 'T', diagonal 'N' or
// unit 'U', job 'N' (values only), 'S' or 'V' (vectors too). T is float, double or std::complex of them; of
// complex numbers `orgqr` is ungqr and `syevd` heevd, and some routines take a workspace of real numbers,
// which is null otherwise.
template <class T>
class Lapack {
 public:
  using Real = RealOf<T>;

  // Throws OpError (IO) when OpenBLAS is not installed.
  static const Lapack& get();

  // b[m, n] becomes the solution of a x = b ('L') or x a = b ('R').
  void trsm(char side, char triangle, char transposed, char diagonal, int m, int n, const T* a, int lda, T* b,
            int ldb) const;
  // a[m, n] becomes its factors; `pivots` has min(m, n) places, counted from 1.
  int getrf(int m, int n, T* a, int lda, int* pivots) const;
  // Eigenvalues of a general a[n, n], which is overwritten; right eigenvectors by columns ('V'). Values of
  // real matrices come by their parts, and a pair of conjugate ones has the parts of the first one's vector
  // in its two columns; those of complex matrices are in `values`, and `reals` has 2 n places.
  int geev(char job, int n, T* a, int lda, T* values, T* imaginary, T* vectors, int ldv, T* work, int size,
           Real* reals) const;
  int potrf(char triangle, int n, T* a, int lda) const;
  // `work` has `size` elements; a size of -1 asks for the best one, which comes in work[0].
  int geqrf(int m, int n, T* a, int lda, T* tau, T* work, int size) const;
  int orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int size) const;
  int gesdd(char job, int m, int n, T* a, int lda, Real* s, T* u, int ldu, T* vh, int ldvh, T* work, int size,
            Real* reals, int* integers) const;
  int syevd(char job, char triangle, int n, T* a, int lda, Real* values, T* work, int size, Real* reals,
            int reals_size, int* integers, int integers_size) const;

 private:
  explicit Lapack(void* library);

  // Fortran takes everything by address, and the lengths of letters after all the rest.
  using Int = const int*;
  using Letter = const char*;
  using Length = std::size_t;
  void (*trsm_)(Letter, Letter, Letter, Letter, Int, Int, const T*, const T*, Int, T*, Int, Length, Length,
                Length, Length);
  void (*getrf_)(Int, Int, T*, Int, int*, int*);
  template <class OfReal, class OfComplex>
  using Either = std::conditional_t<std::is_same_v<T, Real>, OfReal, OfComplex>;
  Either<void (*)(Letter, Letter, Int, T*, Int, T*, T*, T*, Int, T*, Int, T*, Int, int*, Length, Length),
         void (*)(Letter, Letter, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, Real*, int*, Length, Length)>
      geev_;
  void (*potrf_)(Letter, Int, T*, Int, int*, Length);
  void (*geqrf_)(Int, Int, T*, Int, T*, T*, Int, int*);
  void (*orgqr_)(Int, Int, Int, T*, Int, const T*, T*, Int, int*);
  Either<void (*)(Letter, Int, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, int*, int*, Length),
         void (*)(Letter, Int, Int, T*, Int, Real*, T*, Int, T*, Int, T*, Int, Real*, int*, int*, Length)>
      gesdd_;
  Either<void (*)(Letter, Letter, Int, T*, Int, T*, T*, Int, int*, Int, int*, Length, Length),
         void (*)(Letter, Letter, Int, T*, Int, Real*, T*, Int, Real*, Int, int*, Int, int*, Length, Length)>
      syevd_;
};

}  // namespace kiln::cpu
