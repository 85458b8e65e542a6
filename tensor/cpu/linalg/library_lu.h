// Owns the LU factorization of complex matrices that are too large for plain loops, by the library.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/cpu/linalg/lapack.h"
#include "tensor/cpu/linalg/library_call.h"
#include "tensor/cpu/linalg/matrices.h"

namespace kiln::cpu {

// a = p l u, in place and column-major.
template <class T>
class LibraryLu {
 public:
  LibraryLu(int n, Scratch& memory)
      : n_(n), a_(memory.take<T>(area())), pivots_(memory.take<int>(n)), memory_(&memory) {}

  int order() const { return n_; }
  void read(const MatrixView<T>& from) { copy_matrix(from.data, from.row, from.column, n_, n_, a_); }
  // 0, or the number of the first pivot that is zero.
  int factorize() {
    return call_library(*memory_, work(n_), [lu = *this] {
      return Lapack<T>::get().getrf(lu.n_, lu.n_, lu.a_, lu.n_, lu.pivots_);
    });
  }
  bool is_odd() const {
    bool odd = false;
    for (int k = 0; k < n_; ++k) odd ^= pivots_[k] != k + 1;
    return odd;
  }
  T pivot(int k) const { return a_[k + std::int64_t{k} * n_]; }
  int swapped_with(int k) const { return pivots_[k] - 1; }
  T packed(int row, int column) const { return a_[row + std::int64_t{column} * n_]; }

  // to[n, n], row-major. No pivot may be zero, here and below.
  void invert(T* to) {
    T* const x = sides(n_);
    std::fill_n(x, area(), T(0));
    for (std::int64_t k = 0; k < n_; ++k) x[k + k * n_] = 1;
    substitute(x, n_);
    write_matrix(x, n_, n_, n_, to);
  }
  // The x[n, columns] with a x = b: to[i * row + j * column] = x[i, j]. `columns` is always the same.
  void solve(const MatrixView<T>& b, int columns, T* to, std::int64_t row, std::int64_t column) {
    T* const x = sides(columns);
    copy_matrix(b.data, b.row, b.column, n_, columns, x);
    substitute(x, columns);
    if (row == 1) {
      copy_matrix(x, 1, n_, n_, columns, to, column);
    } else {
      copy_matrix(x, n_, 1, columns, n_, to, row);
    }
  }

 private:
  std::int64_t area() const { return std::int64_t{n_} * n_; }
  double work(int columns) const { return 4.0 * n_ * n_ * columns; }
  T* sides(int columns) {
    if (x_ == nullptr) x_ = memory_->take<T>(std::int64_t{n_} * columns);  // as many each time
    return x_;
  }
  void substitute(T* x, int columns) {
    for (std::int64_t k = 0; k < n_; ++k)
      for (std::int64_t j = 0; j < columns; ++j) std::swap(x[k + j * n_], x[pivots_[k] - 1 + j * n_]);
    call_library(*memory_, work(columns), [lu = *this, x, columns] {
      const int n = lu.n_;
      Lapack<T>::get().trsm('L', 'L', 'N', 'U', n, columns, lu.a_, n, x, n);
      Lapack<T>::get().trsm('L', 'U', 'N', 'N', n, columns, lu.a_, n, x, n);
      return 0;
    });
  }

  int n_;
  T* a_;
  T* x_ = nullptr;
  int* pivots_;
  Scratch* memory_;
};

}  // namespace kiln::cpu
