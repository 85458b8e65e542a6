// Owns products of Householder reflections in a form that is applied by products of matrices: I - V T V', the
// compact WY representation (Schreiber and Van Loan, 1989).
#pragma once

#include <algorithm>

#include "tensor/cpu/lapack.h"
#include "tensor/cpu/matrices.h"
#include "tensor/cpu/triangle.h"

namespace kiln::cpu {

// Room for the reflections of one panel at a time.
template <class T>
class Reflectors {
 public:
  static constexpr int kMost = 32;

  Reflectors(int rows, Scratch& memory)
      : vectors_(memory.take<T>(std::int64_t{rows} * kMost)),
        transposed_(memory.take<T>(std::int64_t{rows} * kMost)),
        triangle_(memory.take<T>(std::int64_t{kMost} * kMost)),
        flipped_(memory.take<T>(std::int64_t{kMost} * kMost)) {}

  // The `width` reflections that geqrf leaves below the diagonal of a panel of so many rows.
  void read(const T* panel, int leading, const T* tau, int rows, int width) {
    rows_ = rows;
    width_ = width;
    for (int j = 0; j < width; ++j) {
      T* to = vectors_ + std::ptrdiff_t{j} * rows;
      std::fill_n(to, j, T(0));
      to[j] = 1;
      std::copy_n(panel + std::ptrdiff_t{j} * leading + j + 1, rows - j - 1, to + j + 1);
    }
    copy_matrix(vectors_, rows, 1, width, rows, transposed_);
    find_triangle(tau);
  }

  // c[rows, columns] becomes the product of the reflections, first to last or last to first, times c.
  void apply(T* c, int leading, int columns, bool last_first) const {
    const Lapack<T>& lapack = Lapack<T>::get();
    const T* triangle = last_first ? flipped_ : triangle_;
    each_block_of_columns(rows_, columns, [&](int first, int count) {
      Scratch memory;
      T* sums = memory.take<T>(std::int64_t{width_} * count);
      T* shares = memory.take<T>(std::int64_t{width_} * count);
      T* part = c + std::ptrdiff_t{first} * leading;
      lapack.product(width_, count, rows_, transposed_, width_, part, leading, sums, width_);
      lapack.product(width_, count, width_, triangle, width_, sums, width_, shares, width_);
      lapack.subtract_product(rows_, count, width_, vectors_, rows_, shares, width_, part, leading);
    });
  }

 private:
  // Column by column: t_j = (-tau_j T (V' v_j), tau_j).
  void find_triangle(const T* tau) {
    T overlaps[kMost * kMost];
    Lapack<T>::get().product(width_, width_, rows_, transposed_, width_, vectors_, rows_, overlaps, width_);
    std::fill_n(triangle_, width_ * width_, T(0));
    for (int j = 0; j < width_; ++j) {
      T* column = triangle_ + j * width_;
      for (int k = 0; k < j; ++k) {
        const T scale = -tau[j] * overlaps[k + j * width_];
        for (int i = 0; i <= k; ++i) column[i] += triangle_[i + k * width_] * scale;
      }
      column[j] = tau[j];
    }
    for (int j = 0; j < width_; ++j)
      for (int i = 0; i < width_; ++i) flipped_[j + i * width_] = triangle_[i + j * width_];
  }

  int rows_ = 0, width_ = 0;
  T *vectors_, *transposed_;  // V [rows, width] and V'
  T *triangle_, *flipped_;    // T [width, width] and T'
};

}  // namespace kiln::cpu
