// Owns common divisors and multiples of integers, and the neighbours of floats: what is found from bits and
// integers alone, without rounding.
#pragma once

#include "tensor/math/arithmetic.h"

namespace kiln::math {

// Euclid's algorithm on magnitudes. That of the least integer has no positive form, so the result wraps.
template <class T>
KILN_MATH_SLOW T gcd(T a, T b) {
  auto x = to_unsigned(abs(a)), y = to_unsigned(abs(b));
  while (y != 0) {
    const auto rest = x % y;
    x = y;
    y = rest;
  }
  return wrap(x);
}
// |a b| over the divisor; 0 where one is 0. Wraps where it has no room.
template <class T>
KILN_MATH T lcm(T a, T b, int bits) {
  const T divisor = gcd(a, b);
  return abs(mul(divisor == 0 ? T(0) : a / (divisor == 0 ? T(1) : divisor), b), bits);
}

// One place further from 0, or nearer. Magnitudes of floats are in the order of their bits, the largest
// finite one before infinity.
template <class Bits>
KILN_MATH Bits neighbour(Bits magnitude, bool grows) {
  return static_cast<Bits>(grows ? magnitude + 1 : magnitude - 1);
}
// The next number after x on the way to another one.
template <class T>
KILN_MATH T next_of_format(T x, T toward, T next) {
  return unordered(x, toward) ? x + toward : x == toward ? toward : copysign(next, x == T(0) ? toward : x);
}
template <class T>
KILN_MATH bool moves_outward(T x, T toward) {
  return x == T(0) || (x < toward) == (x > T(0));
}
// Of the dtype whose largest finite number is given: halves are computed as f32, and operands that are none
// of them count as the nearest.
template <class T>
KILN_MATH T nextafter(T x, T toward, double largest) {
  constexpr double kLargestHalf = 65504.0, kLargestBFloat16 = 0x1.fep127;
  if constexpr (sizeof(T) == 4) {
    if (largest == kLargestHalf) {
      x = half_to_float(float_to_half(x)), toward = half_to_float(float_to_half(toward));
      const UInt32 next = neighbour(float_to_half(abs(x)), moves_outward(x, toward));
      return next_of_format(x, toward, half_to_float(next));
    }
    if (largest == kLargestBFloat16) {
      x = bfloat16_to_float(float_to_bfloat16(x)), toward = bfloat16_to_float(float_to_bfloat16(toward));
      const UInt32 next = neighbour(float_to_bfloat16(abs(x)), moves_outward(x, toward));
      return next_of_format(x, toward, bfloat16_to_float(next));
    }
  }
  return next_of_format(x, toward, from_bits(neighbour(to_bits(abs(x)), moves_outward(x, toward))));
}

}  // namespace kiln::math
