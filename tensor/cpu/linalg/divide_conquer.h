// Owns eigenvalues and eigenvectors of symmetric tridiagonal matrices by divide and conquer (Cuppen, 1981):
// those of two halves, joined by a matrix of rank one.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/cpu/linalg/block_kernels.h"
#include "tensor/cpu/linalg/matrices.h"
#include "tensor/cpu/linalg/secular_kernels.h"
#include "tensor/integers.h"

namespace kiln::cpu {

// Rows of memory, `ld` elements apart.
template <class T>
struct Rows {
  T* first;
  std::ptrdiff_t ld;

  T* operator[](std::int64_t i) const { return first + i * ld; }
};

template <class T>
class DivideAndConquer {
 public:
  DivideAndConquer(int n, Scratch& memory)
      : n_(n),
        order_(round_to_block(n)),
        rising_(memory.take<int>(n)),
        joined_(memory.take<int>(n)),
        kept_(memory.take<int>(n)),
        settled_(memory.take<int>(n)),
        places_(memory.take<int>(n)),
        spans_(memory.take<Span>(n)),
        shares_(memory.take<T>(n)),
        poles_(memory.take<T>(order_ + kBlockStep)),
        weights_(memory.take<T>(order_ + kBlockStep)),
        fitted_(memory.take<T>(order_)),
        found_(memory.take<T>(order_)),
        vectors_{memory.take<T>((order_ + kBlockStep) * spread_rows<T>(order_ + kBlockStep)),
                 spread_rows<T>(order_ + kBlockStep)} {}

  // Of a matrix of elements of about 1 at most. `diagonal` becomes the values, rising, and row j of `to`
  // vector j; `beside` stays. `moved` has n rows of order + kBlockStep finite numbers, order =
  // round_to_block(n), and may be memory of `to`; `square` has n rows of order elements. Returns LAPACK's
  // `info`: 0, or where the iterations did not converge.
  int solve(T* diagonal, const T* beside, const Rows<T>& to, const Rows<T>& moved, const Rows<T>& square) {
    values_ = diagonal, beside_ = beside, moved_ = moved, square_ = square;
    std::fill_n(vectors_.first, (order_ + kBlockStep) * vectors_.ld, T(0));
    for (int i = 0; i + 1 < n_; ++i) {
      values_[i] -= std::abs(beside_[i]);
      values_[i + 1] -= std::abs(beside_[i]);
    }
    const int info = divide(0, n_);
    if (info != 0) return info;
    for (int j = 0; j < n_; ++j) {
      std::copy_n(vectors_[rising_[j]], n_, to[j]);
      found_[j] = values_[rising_[j]];
    }
    std::copy_n(found_, n_, values_);
    return 0;
  }

 private:
  // Which elements of a vector may not be zero.
  enum Span : int { kUpper, kBoth, kLower };

  // Rows and columns from `from` to `to`. Those of more than a block begin at a multiple of one.
  int divide(int from, int to) {
    const int count = to - from;
    if (count == 1) {
      vectors_[from][from] = 1;
      rising_[from] = from;
      return 0;
    }
    const int upper = count > kBlockStep ? round_to_block(count / 2)
                                         : static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)) / 2);
    const int middle = from + upper;
    int info = divide(from, middle);
    if (info == 0) info = divide(middle, to);
    return info == 0 ? join(from, middle, to) : info;
  }

  // The two diagonal blocks and scale z z', in the basis of their vectors.
  int join(int from, int middle, int to) {
    std::merge(rising_ + from, rising_ + middle, rising_ + middle, rising_ + to, joined_, rises());
    const T scale = 2 * std::abs(beside_[middle - 1]);
    read_shares(from, middle, to);
    const T largest = largest_of(shares_ + from, shares_ + to);
    // Less than this is rounding.
    const T least =
        4 * std::numeric_limits<T>::epsilon() * std::max(largest, largest_of(values_ + from, values_ + to));
    if (scale * largest <= least) {
      std::copy_n(joined_, to - from, rising_ + from);
      return 0;
    }
    settle(scale, least, to - from);
    gather(from, to);
    const Secular<T> equation{kept_count_, poles_, weights_,      scale,
                              places_,     found_, square_.first, square_.ld};
    if (!find_vectors(equation)) return to;
    multiply(from, middle, to);
    replace(from, to);
    return 0;
  }

  // z: the row of the first block's vectors above the border, and the row of the second block's below it.
  void read_shares(int from, int middle, int to) {
    const T one = T(1) / std::sqrt(T(2));
    const T below = std::copysign(one, beside_[middle - 1]);
    for (int i = from; i < middle; ++i) {
      shares_[i] = one * vectors_[i][middle - 1];
      spans_[i] = kUpper;
    }
    for (int i = middle; i < to; ++i) {
      shares_[i] = below * vectors_[i][middle];
      spans_[i] = kLower;
    }
  }
  static T largest_of(const T* from, const T* to) {
    T largest = 0;
    for (; from < to; ++from) largest = std::max(largest, std::abs(*from));
    return largest;
  }

  // Vectors with no share, and all but one of each pair of values that are too close, are settled: a rotation
  // moves the share of one to the other. What remains is a secular equation.
  void settle(T scale, T least, int count) {
    kept_count_ = settled_count_ = 0;
    int before = -1;
    for (int i = 0; i < count; ++i) {
      const int here = joined_[i];
      if (scale * std::abs(shares_[here]) <= least) {
        settled_[settled_count_++] = here;
        continue;
      }
      if (before >= 0) {
        if (are_close(before, here, least)) {
          rotate(before, here);
          settled_[settled_count_++] = before;
        } else {
          kept_[kept_count_++] = before;
        }
      }
      before = here;
    }
    kept_[kept_count_++] = before;
  }
  bool are_close(int a, int b, T least) const {
    const T length2 = shares_[a] * shares_[a] + shares_[b] * shares_[b];
    return std::abs((values_[b] - values_[a]) * shares_[a] * shares_[b] / length2) <= least;
  }
  void rotate(int a, int b) {
    const T length = std::hypot(shares_[a], shares_[b]);
    const T cosine = shares_[b] / length, sine = -shares_[a] / length;
    shares_[b] = length;
    if (spans_[a] != spans_[b]) spans_[b] = kBoth;
    T *x = vectors_[a], *y = vectors_[b];
    for (int i = 0; i < n_; ++i) {
      const T old = x[i];
      x[i] = cosine * old + sine * y[i];
      y[i] = cosine * y[i] - sine * old;
    }
    const T value = values_[a];
    values_[a] = value * cosine * cosine + values_[b] * sine * sine;
    values_[b] = value * sine * sine + values_[b] * cosine * cosine;
  }

  // Kept vectors move to where rows of one span are together, and those settled behind them.
  void gather(int from, int to) {
    std::fill_n(span_counts_, 3, 0);
    for (int i = 0; i < kept_count_; ++i) ++span_counts_[spans_[kept_[i]]];
    int next[] = {0, span_counts_[kUpper], span_counts_[kUpper] + span_counts_[kBoth]};
    const auto move = [&](int row, int place) {
      std::copy(vectors_[row] + from, vectors_[row] + to, moved_[place] + from);
    };
    for (int i = 0; i < kept_count_; ++i) {
      const int row = kept_[i];
      places_[i] = next[spans_[row]]++;
      poles_[i] = values_[row];
      weights_[i] = shares_[row];
      move(row, places_[i]);
    }
    std::sort(settled_, settled_ + settled_count_, rises());
    for (int i = 0; i < settled_count_; ++i) {
      found_[kept_count_ + i] = values_[settled_[i]];
      move(settled_[i], kept_count_ + i);
    }
  }

  bool find_vectors(const Secular<T>& equation) {
    constexpr int kSome = 2 * kBlockStep;
    const SecularKernels<T>& kernels = secular_kernels().of<T>();
    const int count = kept_count_, order = round_to_block(count);
    const double work = static_cast<double>(count) * count;
    const auto some = [&](int end, double steps, const auto& f) {
      each_piece(ceil_divide(end, kSome), steps * work,
                 [&](int piece) { f(piece * kSome, std::min(end, (piece + 1) * kSome)); });
    };
    std::atomic<bool> found = true;
    some(count, 50, [&](int first, int end) {
      if (!kernels.find_roots(equation, first, end)) found = false;
    });
    if (!found) return false;
    some(count, 5, [&](int first, int end) { kernels.find_weights(equation, fitted_, first, end); });
    some(order, 5, [&](int first, int end) { kernels.find_vectors(equation, fitted_, first, end); });
    return true;
  }

  // Vectors of the joined matrix, in the place of the first rows.
  void multiply(int from, int middle, int to) {
    const int count = kept_count_;
    if (to - from <= kBlockStep) {
      secular_kernels().of<T>().combine(square_.first, square_.ld, moved_.first + from, moved_.ld,
                                        vectors_[from] + from, vectors_.ld, count, to - from, count);
      return;
    }
    constexpr int kSome = 64;
    const int upper = span_counts_[kUpper] + span_counts_[kBoth], lower = count - span_counts_[kUpper];
    const int order = round_to_block(count);
    const BlockKernels<T>& kernels = block_kernels().of<T>();
    each_piece(ceil_divide(order, kSome), static_cast<double>(order) * count * (to - from) / 2,
               [&](int piece) {
                 const int first = piece * kSome, rows = std::min(kSome, order - first);
                 for (int i = first; i < std::min(first + rows, count); ++i)
                   std::fill(vectors_[from + i] + from, vectors_[from + i] + to, T(0));
                 // Of those with elements from row `row` of `moved_` on, in so many columns.
                 const auto add = [&](int row, int depth, int column, int columns) {
                   kernels.subtract({square_[row] + first, 1, square_.ld}, moved_[row] + column, moved_.ld,
                                    vectors_[from + first] + column, vectors_.ld, rows,
                                    round_to_block(columns), depth);
                 };
                 add(0, upper, from, middle - from);
                 add(span_counts_[kUpper], lower, middle, to - middle);
               });
  }

  // Settled vectors go behind the new ones, and all are put in order.
  void replace(int from, int to) {
    for (int i = kept_count_; i < to - from; ++i)
      std::copy(moved_[i] + from, moved_[i] + to, vectors_[from + i] + from);
    std::copy_n(found_, to - from, values_ + from);
    for (int i = 0; i < to - from; ++i) joined_[i] = from + i;
    std::merge(joined_, joined_ + kept_count_, joined_ + kept_count_, joined_ + (to - from), rising_ + from,
               rises());
  }

  auto rises() const {
    return [this](int a, int b) { return values_[a] < values_[b]; };
  }

  int n_, order_;
  // Of each part that is solved, its rows in the order of their values.
  int* rising_;
  int *joined_, *kept_, *settled_, *places_;
  Span* spans_;
  T *shares_, *poles_, *weights_, *fitted_, *found_;
  Rows<T> vectors_;
  T* values_ = nullptr;
  const T* beside_ = nullptr;
  Rows<T> moved_{}, square_{};
  int kept_count_ = 0, settled_count_ = 0, span_counts_[3] = {};
};

}  // namespace kiln::cpu
