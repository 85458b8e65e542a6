// Owns what singular values and eigenvalues share: what is done to matrices before, and the shapes of
// results.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/cpu/linalg/matrices.h"
#include "tensor/integers.h"

namespace kiln::cpu {

inline constexpr int kNotFinite = -1;  // `info` of matrices from which the library might not come back

// The largest magnitude; a nan is larger than any.
template <class T>
T largest_magnitude(const T* x, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  Bits most = 0;  // without their signs, floats are in the order of their bits
  for (std::int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<Bits>(x[i]) & std::numeric_limits<Bits>::max());
  return std::bit_cast<T>(most);
}

// The power of two to scale a matrix by when squares of its elements, of which the largest is given, would
// leave the range of T.
template <class T>
int exponent_out_of_range(T largest) {
  const T least = std::sqrt(std::numeric_limits<T>::min()) / std::numeric_limits<T>::epsilon();
  return largest == 0 || (largest >= least && largest <= 1 / least) ? 0 : -std::ilogb(largest);
}
// In two steps: the power itself may be beyond the range.
template <class T>
void scale_by_power(T* x, std::int64_t count, int exponent) {
  if (exponent == 0) return;
  const T first = std::ldexp(T(1), exponent / 2), second = std::ldexp(T(1), exponent - exponent / 2);
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * first * second;
}

// to[i, j], row-major, of rows * columns elements = from(i, j), by several threads when it is large.
template <class T>
void write_view(const MatrixView<T>& from, int rows, int columns, T* to) {
  constexpr int kRows = 64;
  each_piece(ceil_divide(rows, kRows), 8.0 * rows * columns, [&](int piece) {
    const int first = piece * kRows;
    copy_matrix(from.data + first * from.row, from.column, from.row, columns, std::min(kRows, rows - first),
                to + std::int64_t{first} * columns, columns);
  });
}

}  // namespace kiln::cpu
