// Owns substitution: systems with a triangular matrix, as products of blocks wherever they are large.
#pragma once

#include <algorithm>

#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/integers.h"
#include "tensor/parallel.h"

namespace kiln::cpu {

// b[n, columns] becomes the x with t x = b for the lower ('L') or upper ('U') triangle of t; `diagonal` is
// 'U' when that counts as ones. Column-major. Halves the triangle, so that most of the work is a product,
// which the library does faster than its own substitution.
template <class T>
void substitute(char triangle, char diagonal, int n, int columns, const T* t, int ldt, T* b, int ldb) {
  constexpr int kBlock = 32;
  const Lapack<T>& lapack = Lapack<T>::get();
  if (n <= kBlock || columns == 1) {
    if (n > 0 && columns > 0) lapack.trsm('L', triangle, 'N', diagonal, n, columns, t, ldt, b, ldb);
    return;
  }
  const int top = (n / 2 + kBlock / 2 - 1) / (kBlock / 2) * (kBlock / 2);
  const T* corner = t + top + static_cast<std::ptrdiff_t>(top) * ldt;
  if (triangle == 'L') {
    substitute(triangle, diagonal, top, columns, t, ldt, b, ldb);
    lapack.subtract_product(n - top, columns, top, t + top, ldt, b, ldb, b + top, ldb);
    substitute(triangle, diagonal, n - top, columns, corner, ldt, b + top, ldb);
  } else {
    substitute(triangle, diagonal, n - top, columns, corner, ldt, b + top, ldb);
    lapack.subtract_product(top, columns, n - top, t + static_cast<std::ptrdiff_t>(top) * ldt, ldt, b + top,
                            ldb, b, ldb);
    substitute(triangle, diagonal, top, columns, t, ldt, b, ldb);
  }
}

// Runs f(first, count) over the columns of a right-hand side. The cut is fixed, so threads change no bits.
template <class F>
void each_block_of_columns(int n, int columns, const F& f) {
  const int width = columns <= 256 ? 64 : 128;
  const int blocks = ceil_divide(columns, width);
  const std::int64_t work = std::int64_t{n} * n * width;
  parallel_for(blocks, work < (1 << 22) ? blocks : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const int first = static_cast<int>(block) * width;
      f(first, std::min(width, columns - first));
    }
  });
}

}  // namespace kiln::cpu
