// Owns substitution: systems with a triangular matrix, as products of blocks wherever they are large.
#pragma once

#include <algorithm>

#include "tensor/cpu/lapack.h"
#include "tensor/cpu/matrices.h"
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
  const int blocks = (columns + width - 1) / width;
  const std::int64_t work = std::int64_t{n} * n * width;
  parallel_for(blocks, work < (1 << 22) ? blocks : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const int first = static_cast<int>(block) * width;
      f(first, std::min(width, columns - first));
    }
  });
}

// The inverses of the blocks on the diagonals of both triangles of an LU factorization: with them
// substitution is nothing but products. Not for triangles that may have zeros on the diagonal, whose
// infinities would spread.
template <class T>
class BlockInverses {
 public:
  BlockInverses(int n, Scratch& memory)
      : n_(n), inverses_(memory.take<T>(std::int64_t{2} * ((n + kBlock - 1) / kBlock) * kBlock * kBlock)) {}

  void compute(const T* lu) {
    for (int k = 0; k < n_; k += kBlock) {
      const int order = std::min(kBlock, n_ - k);
      const T* block = lu + k + static_cast<std::ptrdiff_t>(k) * n_;
      invert_lower(order, block, inverse(k, 'L'));
      invert_upper(order, block, inverse(k, 'U'));
    }
  }

  // b[n, columns] becomes the x with l u x = b.
  void substitute(const T* lu, T* b, int columns, Scratch& memory) const {
    T* copy = memory.take<T>(std::int64_t{kBlock} * columns);
    forward(lu, 0, n_, b, columns, copy);
    backward(lu, 0, n_, b, columns, copy);
  }

 private:
  static constexpr int kBlock = 16;  // inverting costs what larger blocks save

  T* inverse(int k, char triangle) const {
    return inverses_ + (2 * (k / kBlock) + (triangle == 'U' ? 1 : 0)) * kBlock * kBlock;
  }

  // Columns of the inverse by substitution, `order` apart.
  void invert_lower(int order, const T* l, T* to) const {
    for (int j = 0; j < order; ++j, to += order) {
      std::fill_n(to, order, T(0));
      to[j] = 1;
      for (int k = j; k < order; ++k) {
        const T* column = l + static_cast<std::ptrdiff_t>(k) * n_;
        const T scale = to[k];
        for (int i = k + 1; i < order; ++i) to[i] -= column[i] * scale;
      }
    }
  }
  void invert_upper(int order, const T* u, T* to) const {
    for (int j = 0; j < order; ++j, to += order) {
      std::fill_n(to, order, T(0));
      to[j] = 1;
      for (int k = j; k >= 0; --k) {
        const T* column = u + static_cast<std::ptrdiff_t>(k) * n_;
        const T scale = to[k] /= column[k];
        for (int i = 0; i < k; ++i) to[i] -= column[i] * scale;
      }
    }
  }

  // Rows k to k + order of b, times the inverse of their block.
  void apply(int k, int order, char triangle, T* b, int columns, T* copy) const {
    for (int j = 0; j < columns; ++j)
      std::copy_n(b + k + static_cast<std::ptrdiff_t>(j) * n_, order,
                  copy + static_cast<std::ptrdiff_t>(j) * order);
    Lapack<T>::get().product(order, columns, order, inverse(k, triangle), order, copy, order, b + k, n_);
  }
  static int half(int order) { return (order / 2 + kBlock - 1) / kBlock * kBlock; }

  // For the rows k to k + order.
  void forward(const T* lu, int k, int order, T* b, int columns, T* copy) const {
    if (order <= kBlock) return apply(k, order, 'L', b, columns, copy);
    const int top = half(order);
    forward(lu, k, top, b, columns, copy);
    const T* left = lu + k + top + static_cast<std::ptrdiff_t>(k) * n_;
    Lapack<T>::get().subtract_product(order - top, columns, top, left, n_, b + k, n_, b + k + top, n_);
    forward(lu, k + top, order - top, b, columns, copy);
  }
  void backward(const T* lu, int k, int order, T* b, int columns, T* copy) const {
    if (order <= kBlock) return apply(k, order, 'U', b, columns, copy);
    const int top = half(order);
    backward(lu, k + top, order - top, b, columns, copy);
    const T* right = lu + k + static_cast<std::ptrdiff_t>(k + top) * n_;
    Lapack<T>::get().subtract_product(top, columns, order - top, right, n_, b + k + top, n_, b + k, n_);
    backward(lu, k, top, b, columns, copy);
  }

  int n_;
  T* inverses_;
};

}  // namespace kiln::cpu
