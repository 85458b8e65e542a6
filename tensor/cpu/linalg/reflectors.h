// Owns products of Householder reflections in a form that is applied by products of matrices: I - V T V', the
// compact WY representation (Schreiber and Van Loan, 1989).
#pragma once

#include <algorithm>

#include "tensor/cpu/linalg/block_kernels.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/integers.h"

namespace kiln::cpu {

// Room for the reflections of one panel at a time, of vectors of at most so many elements.
template <class T>
class Reflectors {
 public:
  static constexpr int kMost = 32;

  Reflectors(int rows, Scratch& memory)
      : vectors_(memory.take<T>(std::int64_t{round_to_block(rows)} * kMost)),
        transposed_(memory.take<T>(spread_rows<T>(round_to_block(rows)) * kMost)),
        triangle_(memory.take<T>(std::int64_t{kMost} * kMost)) {}

  // `width` reflections of `rows` elements. Of reflection j those before j are zero, element j is one, and
  // element i behind it is panel[i + j * across].
  void read(const T* panel, std::int64_t across, const T* tau, int rows, int width) {
    rows_ = round_to_block(rows);
    width_ = width;
    leading_ = spread_rows<T>(rows_);
    std::fill_n(transposed_, leading_ * kMost, T(0));
    for (int j = 0; j < width; ++j) {
      T* to = transposed_ + j * leading_;
      to[j] = 1;
      for (int i = j + 1; i < rows; ++i) to[i] = panel[i + j * across];
    }
    kernels().transpose(transposed_, leading_, vectors_, kMost, kMost, rows_);
    find_triangle(tau);
  }

  // The columns of c, `leading` apart, become the product of the reflections, first to last, times
  // themselves. There are memory and no nans up to multiples of kBlockStep rows and columns.
  void apply(T* c, std::int64_t leading, int columns) const {
    constexpr int kSlab = 64;
    const int all = round_to_block(columns);
    each_piece(ceil_divide(all, kSlab), 2.0 * rows_ * kMost * all, [&](int piece) {
      const int count = std::min(kSlab, all - piece * kSlab);
      // Columns are rows here: c' -= (c' V) T' V'.
      alignas(64) T sums[kSlab * kMost] = {}, shares[kSlab * kMost] = {};
      T* part = c + std::int64_t{piece} * kSlab * leading;
      kernels().subtract({part, leading, 1}, vectors_, kMost, sums, kMost, count, kMost, rows_);
      kernels().subtract({sums, kMost, 1}, triangle_, kMost, shares, kMost, count, kMost, width_);
      kernels().subtract({shares, kMost, 1}, transposed_, leading_, part, leading, count, rows_, width_);
    });
  }

 private:
  static const BlockKernels<T>& kernels() { return block_kernels().of<T>(); }

  // Column by column: t_j = (-tau_j T (V' v_j), tau_j).
  void find_triangle(const T* tau) {
    alignas(64) T overlaps[kMost * kMost] = {};  // -V' V
    kernels().subtract({transposed_, leading_, 1}, vectors_, kMost, overlaps, kMost, kMost, kMost, rows_);
    std::fill_n(triangle_, kMost * kMost, T(0));
    for (int j = 0; j < width_; ++j) {
      T* column = triangle_ + j * kMost;
      for (int k = 0; k < j; ++k) {
        const T scale = tau[j] * overlaps[k + j * kMost];
        for (int i = 0; i <= k; ++i) column[i] += triangle_[i + k * kMost] * scale;
      }
      column[j] = tau[j];
    }
  }

  int rows_ = 0, width_ = 0;
  std::ptrdiff_t leading_ = 0;
  T *vectors_, *transposed_;  // V [rows, kMost] and V'
  T* triangle_;               // T' [kMost, kMost], row-major
};

}  // namespace kiln::cpu
