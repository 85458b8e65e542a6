// Owns LU factorizations of matrices that are worth cutting: all work but that of narrow panels is products
// of blocks, and substitution goes along the columns of the right-hand side, which do not wait for one
// another.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensor/cpu/linalg/block_kernels.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/integers.h"

namespace kiln::cpu {

// a = p l u with partial pivoting. Memory is row-major and padded by an identity.
template <class T>
class BlockedLu {
 public:
  BlockedLu(int n, Scratch& memory)
      : n_(n),
        order_(round_to_block(n)),
        ld_(spread_rows<T>(order_)),
        a_(memory.take<T>(order_ * ld_)),
        panel_(memory.take<T>(std::min(kPanel, order_) * ld_)),
        pivots_(memory.take<int>(order_)),
        rows_(memory.take<int>(order_)) {}

  int order() const { return n_; }
  void read(const MatrixView<T>& from) {
    each_piece(ceil_divide(n_, kPanel), static_cast<double>(n_) * n_, [&](int piece) {
      const int first = piece * kPanel, count = std::min(kPanel, n_ - first);
      copy_matrix(from.data + first * from.row, from.column, from.row, n_, count, at(first, 0), ld_);
      for (int i = first; i < first + count; ++i) std::fill_n(at(i, n_), order_ - n_, T(0));
    });
    for (int i = n_; i < order_; ++i) {
      std::fill_n(at(i, 0), order_, T(0));
      *at(i, i) = 1;
    }
  }

  // 0, or the number of the first pivot that is zero.
  int factorize() {
    int info = factorize_panel(0, std::min(kPanel, order_));
    for (int k = 0; k < order_; k += kPanel) {
      const int failed = finish_panel(k, std::min(k + kPanel, order_));
      if (info == 0) info = failed;
    }
    std::iota(rows_, rows_ + order_, 0);
    for (int k = 0; k < order_; ++k) std::swap(rows_[k], rows_[pivots_[k]]);
    return info;
  }
  bool is_odd() const {
    bool odd = false;
    for (int k = 0; k < n_; ++k) odd ^= pivots_[k] != k;
    return odd;
  }
  T pivot(int k) const { return *at(k, k); }
  int swapped_with(int k) const { return pivots_[k]; }
  T packed(int row, int column) const { return *at(row, column); }

  // to[n, n], row-major. No pivot may be zero, here and below.
  void invert(T* to) const {
    each_slab(n_, [&](int first, int count, T* x, std::ptrdiff_t ldx) {
      // Columns of the identity where those of p are: their zeros on top stay.
      for (int j = 0; j < count; ++j) x[(first + j) * ldx + j] = 1;
      substitute(x, ldx, round_to_block(count), first);
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < count; ++j) to[std::int64_t{i} * n_ + rows_[first + j]] = x[i * ldx + j];
    });
  }
  // The x[n, columns] with a x = b: to[i * row + j * column] = x[i, j].
  void solve(const MatrixView<T>& b, int columns, T* to, std::int64_t row, std::int64_t column) const {
    each_slab(columns, [&](int first, int count, T* x, std::ptrdiff_t ldx) {
      for (int i = 0; i < n_; ++i) {
        const T* from = b.data + rows_[i] * b.row + first * b.column;
        if (b.column == 1) {
          std::copy_n(from, count, x + i * ldx);
        } else {
          for (int j = 0; j < count; ++j) x[i * ldx + j] = from[j * b.column];
        }
      }
      substitute(x, ldx, round_to_block(count), 0);
      if (column == 1) {
        copy_matrix(x, 1, ldx, count, n_, to + first, row);
      } else {
        copy_matrix(x, ldx, 1, n_, count, to + first * column, column);
      }
    });
  }

 private:
  static constexpr int kPanel = 64;
  static constexpr int kSlab = 48;  // columns that a thread works on at a time

  T* at(int row, int column) const { return a_ + row * ld_ + column; }
  MatrixView<T> view(int row, int column) const { return {at(row, column), ld_, 1}; }
  static const BlockKernels<T>& kernels() { return block_kernels().of<T>(); }

  int factorize_panel(int k, int end) {
    const std::ptrdiff_t ld = spread_rows<T>(order_ - k);
    kernels().transpose(at(k, k), ld_, panel_, ld, order_ - k, end - k);
    const int info = kernels().factorize(panel_, ld, order_ - k, end - k, pivots_ + k);
    kernels().transpose(panel_, ld, at(k, k), ld_, end - k, order_ - k);
    for (int i = k; i < end; ++i) pivots_[i] += k;
    return info == 0 ? 0 : info + k;
  }

  // Brings all columns but those of the panel up to date. The next panel is first, and factorized while other
  // threads go on: what that gives is returned.
  int finish_panel(int k, int end) {
    const int next = std::min(end + kPanel, order_);
    const int slabs = ceil_divide(order_ - next, kSlab);
    int info = 0;
    each_piece(slabs + 2, static_cast<double>(end - k) * (order_ - end) * (order_ - end), [&](int piece) {
      if (piece == 0) {
        if (end == order_) return;
        update(k, end, end, next);
        info = factorize_panel(end, next);
      } else if (piece <= slabs) {
        const int first = next + (piece - 1) * kSlab;
        update(k, end, first, std::min(first + kSlab, order_));
      } else {
        swap_rows(k, end, 0, k);
      }
    });
    return info;
  }
  void update(int k, int end, int first, int last) {
    swap_rows(k, end, first, last);
    kernels().substitute_lower(view(k, k), at(k, first), ld_, end - k, last - first);
    kernels().subtract(view(end, k), at(k, first), ld_, at(end, first), ld_, order_ - end, last - first,
                       end - k);
  }
  void swap_rows(int k, int end, int first, int last) {
    for (int i = k; i < end; ++i)
      if (pivots_[i] != i) std::swap_ranges(at(i, first), at(i, last), at(pivots_[i], first));
  }

  // Runs f(first, count, x, ldx) for slabs of the columns of a right-hand side, with zeroed memory for each.
  template <class F>
  void each_slab(int columns, const F& f) const {
    const int slabs = ceil_divide(columns, kSlab);
    each_piece(slabs, static_cast<double>(n_) * n_ * columns, [&](int slab) {
      Scratch memory;
      const int first = slab * kSlab;
      T* x = memory.take<T>(std::int64_t{order_} * kSlab);
      std::fill_n(x, std::int64_t{order_} * kSlab, T(0));
      f(first, std::min(kSlab, columns - first), x, std::ptrdiff_t{kSlab});
    });
  }
  // x, of which rows before `first` are zero, becomes the y with l u y = x.
  void substitute(T* x, std::ptrdiff_t ldx, int columns, int first) const {
    kernels().substitute_lower(view(first, first), x + first * ldx, ldx, order_ - first, columns);
    // Infinities times the zeros of the padding are nans.
    std::fill(x + n_ * ldx, x + order_ * ldx, T(0));
    kernels().substitute_upper(view(0, 0), x, ldx, order_, columns);
  }

  int n_, order_;
  std::ptrdiff_t ld_;
  T *a_, *panel_;
  int *pivots_, *rows_;  // what each row was swapped with; which row of `a` is where
};

}  // namespace kiln::cpu
