// Owns the kernels of factorizations by blocks, compiled once per instruction set. Multiplications and
// additions are fused where the instruction set can: the library for large products does so, too.
#include "tensor/cpu/linalg/block_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/cpu/isa/squares.h"
#include "tensor/cpu/isa/vectors.h"

namespace kiln::cpu::KILN_ISA {
namespace {

// Rows of x that stay in the nearest cache while rows of c go by, and the order of triangles without
// products.
constexpr int kDepth = 128;
constexpr int kLeaf = 64;

// ---- Products and substitution ----

enum class Then { Nothing, Lower, Upper };

// One group of rows of c -= factor x, `kColumns` vectors wide; then substitution in the triangle `t` of as
// many rows.
template <class T, int kColumns, Then kThen>
void group(MatrixView<T> factor, const T* x, std::ptrdiff_t ldx, T* c, std::ptrdiff_t ldc, int depth,
           const MatrixView<T>& t) {
  using Vector = VectorOf<T>;
  Vector sum[kGroup][kColumns];
  each<kGroup>([&](auto r) __attribute__((always_inline)) {
    each<kColumns>([&](auto v)
                       __attribute__((always_inline)) { sum[r][v] = load(c + r * ldc + v * kWidth<T>); });
  });
  for (int p = 0; p < depth; ++p, x += ldx, factor.data += factor.column) {
    Vector right[kColumns];
    each<kColumns>([&](auto v) __attribute__((always_inline)) { right[v] = load(x + v * kWidth<T>); });
    each<kGroup>([&](auto r) __attribute__((always_inline)) {
      const T left = factor.data[r * factor.row];
      each<kColumns>([&](auto v) __attribute__((always_inline)) { sum[r][v] -= left * right[v]; });
    });
  }
  const auto remove = [&](auto r, auto s) __attribute__((always_inline)) {
    const T left = t.data[r * t.row + s * t.column];
    each<kColumns>([&](auto v) __attribute__((always_inline)) { sum[r][v] -= left * sum[s][v]; });
  };
  if constexpr (kThen == Then::Lower) {
    each<kGroup>([&](auto r) __attribute__((always_inline)) {
      each<r>([&](auto s) __attribute__((always_inline)) { remove(r, s); });
    });
  } else if constexpr (kThen == Then::Upper) {
    each<kGroup>([&](auto up) __attribute__((always_inline)) {
      constexpr int r = kGroup - 1 - up;
      each<up>([&](auto below) __attribute__((always_inline)) {
        remove(std::integral_constant<int, r>(), std::integral_constant<int, kGroup - 1 - below>());
      });
      const T pivot = t.data[r * (t.row + t.column)];
      const T inverse = 1 / pivot;
      each<kColumns>([&](auto v) __attribute__((always_inline)) {
        if (std::abs(inverse) <= std::numeric_limits<T>::max()) [[likely]] {
          sum[r][v] *= inverse;
        } else {
          sum[r][v] /= pivot;
        }
      });
    });
  }
  each<kGroup>([&](auto r) __attribute__((always_inline)) {
    each<kColumns>([&](auto v)
                       __attribute__((always_inline)) { store(c + r * ldc + v * kWidth<T>, sum[r][v]); });
  });
}

// Calls f(width, column) for columns cut into as few and even strips of 1 to kVectors vectors as can be.
template <class T, class F>
void each_strip(int columns, const F& f) {
  for (int column = 0; column < columns;) {
    const int left = (columns - column) / kWidth<T>;
    if (left == 1) {
      f(std::integral_constant<int, 1>(), column);
      column += kWidth<T>;
    } else if (left == 2 || left == 4) {
      f(std::integral_constant<int, 2>(), column);
      column += 2 * kWidth<T>;
    } else {
      f(std::integral_constant<int, kVectors>(), column);
      column += kVectors * kWidth<T>;
    }
  }
}

template <class T>
MatrixView<T> part(const MatrixView<T>& x, int row, int column) {
  return {x.data + row * x.row + column * x.column, x.row, x.column};
}

template <class T>
void subtract(const MatrixView<T>& factor, const T* x, std::ptrdiff_t ldx, T* c, std::ptrdiff_t ldc, int rows,
              int columns, int depth) {
  for (int p = 0; p < depth; p += kDepth) {
    const int some = std::min(kDepth, depth - p);
    each_strip<T>(columns, [&](auto width, int column) {
      for (int i = 0; i < rows; i += kGroup)
        group<T, width, Then::Nothing>(part(factor, i, p), x + p * ldx + column, ldx, c + i * ldc + column,
                                       ldc, some, {});
    });
  }
}

template <class T>
void substitute_lower(const MatrixView<T>& t, T* x, std::ptrdiff_t ldx, int order, int columns) {
  for (int k = 0; k < order; k += kLeaf) {
    const int end = std::min(k + kLeaf, order);
    subtract(part(t, k, 0), x, ldx, x + k * ldx, ldx, end - k, columns, k);
    each_strip<T>(columns, [&](auto width, int column) {
      for (int i = k; i < end; i += kGroup)
        group<T, width, Then::Lower>(part(t, i, k), x + k * ldx + column, ldx, x + i * ldx + column, ldx,
                                     i - k, part(t, i, i));
    });
  }
}

template <class T>
void substitute_upper(const MatrixView<T>& t, T* x, std::ptrdiff_t ldx, int order, int columns) {
  for (int end = order; end > 0;) {
    const int k = (end - 1) / kLeaf * kLeaf;
    subtract(part(t, k, end), x + end * ldx, ldx, x + k * ldx, ldx, end - k, columns, order - end);
    each_strip<T>(columns, [&](auto width, int column) {
      for (int i = end - kGroup; i >= k; i -= kGroup) {
        const int done = i + kGroup;
        group<T, width, Then::Upper>(part(t, i, done), x + done * ldx + column, ldx, x + i * ldx + column,
                                     ldx, end - done, part(t, i, i));
      }
    });
    end = k;
  }
}

// ---- A panel ----

// The place of the first of the largest magnitudes of x[from, to). Nans count as infinite.
template <class T>
int largest(const T* x, int from, int to) {
  using Vector = VectorOf<T>;
  const auto lanes = lane_numbers<T>();
  Vector best = Vector{} - 1;
  IntVectorOf<T> place = IntVectorOf<T>{} + from;
  for (int i = from / kWidth<T> * kWidth<T>; i < to; i += kWidth<T>) {
    const auto here = lanes + i;
    Vector size = load(x + i);
    size = size < 0 ? -size : size;
    size = size != size ? Vector{} + std::numeric_limits<T>::infinity() : size;
    const auto larger = (size > best) & (here >= from);
    best = larger ? size : best;
    place = larger ? here : place;
  }
  int found = 0;
  for (int lane = 1; lane < kWidth<T>; ++lane)
    if (best[lane] > best[found] || (best[lane] == best[found] && place[lane] < place[found])) found = lane;
  return static_cast<int>(place[found]);
}

// y[i] -= x[i] * scale for `from` < i < to.
template <class T>
void subtract_scaled(const T* x, T scale, T* y, int from, int to) {
  int i = from / kWidth<T> * kWidth<T>;
  const auto behind = lane_numbers<T>() + i > from;
  store(y + i, behind ? load(y + i) - load(x + i) * scale : load(y + i));
  for (i += kWidth<T>; i < to; i += kWidth<T>) store(y + i, load(y + i) - load(x + i) * scale);
}

template <class T>
void divide(T* x, T by, int from, int to) {
  const T inverse = 1 / by;
  if (std::abs(inverse) <= std::numeric_limits<T>::max()) {
    for (int i = from; i < to; ++i) x[i] *= inverse;
  } else {
    for (int i = from; i < to; ++i) x[i] /= by;
  }
}

// kBlockStep columns from `first` on, which are rows of memory. Those right of them only exchange rows.
template <class T>
int factorize_strip(T* panel, std::ptrdiff_t ld, int rows, int width, int first, int* pivots) {
  int info = 0;
  const int end = first + kBlockStep;
  for (int j = first; j < end; ++j) {
    T* column = panel + j * ld;
    const int best = largest(column, j, rows);
    pivots[j] = best;
    const T pivot = column[best];
    if (pivot == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (best != j)
      for (int c = 0; c < width; ++c) std::swap(panel[c * ld + j], panel[c * ld + best]);
    divide(column, pivot, j + 1, rows);
    for (int c = j + 1; c < end; ++c) subtract_scaled(column, panel[c * ld + j], panel + c * ld, j, rows);
  }
  return info;
}

template <class T>
int factorize(T* panel, std::ptrdiff_t ld, int rows, int width, int* pivots) {
  int info = 0;
  for (int k = 0; k < width; k += kBlockStep) {
    const int failed = factorize_strip(panel, ld, rows, width, k, pivots);
    if (info == 0) info = failed;
    const int next = k + kBlockStep;
    // Of the columns on the right the rows of the strip, then those below.
    for (int j = k; j < next; ++j)
      for (int c = next; c < width; ++c)
        subtract_scaled(panel + j * ld, panel[c * ld + j], panel + c * ld, j, next);
    T* right = panel + next * ld;
    if (next < width)
      subtract({right + k, ld, 1}, panel + k * ld + next, ld, right + next, ld, width - next, rows - next,
               kBlockStep);
  }
  return info;
}

// ---- Transposition ----

template <class T>
void transpose(const T* from, std::ptrdiff_t ld_from, T* to, std::ptrdiff_t ld_to, int rows, int columns) {
  using Vector = std::conditional_t<sizeof(T) == 4, Words, Doubles>;
  constexpr int kSide = sizeof(Vector) / sizeof(T);
  for (int i = 0; i < rows; i += kSide) {
    for (int j = 0; j < columns; j += kSide) {
      Vector square[kSide];
#pragma GCC unroll 8
      for (int k = 0; k < kSide; ++k) std::memcpy(&square[k], from + (i + k) * ld_from + j, sizeof(Vector));
      transpose_square(square);
#pragma GCC unroll 8
      for (int k = 0; k < kSide; ++k) std::memcpy(to + (j + k) * ld_to + i, &square[k], sizeof(Vector));
    }
  }
}

template <class T>
constexpr BlockKernels<T> kKernelsOf{subtract<T>, substitute_lower<T>, substitute_upper<T>, factorize<T>,
                                     transpose<T>};
constexpr BlockTable kTable{kKernelsOf<float>, kKernelsOf<double>};

}  // namespace

const BlockTable& block_kernels() { return kTable; }

}  // namespace kiln::cpu::KILN_ISA
