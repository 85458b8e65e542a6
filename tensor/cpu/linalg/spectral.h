// Owns what singular values and eigenvalues share: telling which matrices hold a value that is not finite.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/cpu/linalg/numbers.h"

namespace kiln::cpu {

inline constexpr int kNotFinite = -1;  // `info` of matrices from which the library might not come back

// The largest magnitude, or of complex numbers that of a part; a nan is larger than any.
template <class T>
RealOf<T> largest_magnitude(const T* x, std::int64_t count) {
  using Real = RealOf<T>;
  using Bits = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
  const Real* const each = parts(x);
  Bits most = 0;  // without their signs, floats are in the order of their bits
  for (std::int64_t i = 0; i < count * kParts<T>; ++i)
    most = std::max(most, std::bit_cast<Bits>(each[i]) & std::numeric_limits<Bits>::max());
  return std::bit_cast<Real>(most);
}

}  // namespace kiln::cpu
