// Owns pow. Bounds, in ULP: 1 (f32, through f64), 1.5 (f64). Integers wrap.
#pragma once

#include "tensor/math/log.h"

namespace kiln::math {

// log(2^k m) to about 2^-65: 2s + 2/3 s^3 in pairs, s = (m-1)/(m+1), the rest of the series in one double.
KILN_MATH Sum<double> log_pair(double k, double m) {
  constexpr double kLn2Lo = 0x1.abc9e3b39803fp-56;
  const double above = m - 1.0;
  const double below = m + 1.0;
  const double below_lo = m - (below - 1.0);
  const double s = above / below;
  const double s_lo = (fma(-s, below, above) - s * below_lo) / below;
  const double z = s * s;
  const double z_lo = fma(s, s, -z) + 2.0 * s * s_lo;
  const double series =
      horner(z, 0x1.999999999999ap-2, 0x1.24924924922fep-2, 0x1.c71c71c74c77ap-3, 0x1.745d173ce41bap-3,
             0x1.3b13a9cbb9295p-3, 0x1.111551154f6e7p-3, 0x1.e01971bc0ae18p-4, 0x1.daa559ed76241p-4);
  const double cube = z * s;
  const double cube_lo = fma(z, s, -cube) + fma(z, s_lo, z_lo * s);
  constexpr double kTwoThirds = 0x1.5555555555555p-1, kTwoThirdsLo = 0x1.5555555555555p-55;
  const double term = cube * kTwoThirds;
  const double term_lo = fma(cube, kTwoThirds, -term) + fma(cube, kTwoThirdsLo, cube_lo * kTwoThirds);
  const Sum<double> head = quick_sum(2.0 * s, term);
  const double tail = head.lo + (term_lo + fma(cube * z, series, 2.0 * s_lo));
  const double whole = k * kLn2;
  const double whole_lo = fma(k, kLn2, -whole) + k * kLn2Lo;
  const bool none = k == 0.0;
  const Sum<double> sum = quick_sum(none ? head.hi : whole, none ? 0.0 : head.hi);
  return quick_sum(sum.hi, sum.lo + (whole_lo + tail));
}

// What C says of pow at and beyond the edges, given |x|^y inside.
template <class T>
KILN_MATH T pow_special(T x, T y, T inside) {
  using F = Format<T>;
  const T ax = abs(x), ay = abs(y);
  const bool integral = (ay >= F::kTwoToMantissa) | (rint(y) == y);
  const T half = y * T(0.5);
  const bool odd = integral & (ay < F::kTwoToMantissa * T(2)) & (rint(half) != half);
  const bool grows = (y > T(0)) == (ax > T(1));
  T result = choose(ax == T(0), choose(y < T(0), F::kInf, T(0)), inside);
  result = choose(ax == F::kInf, choose(y < T(0), T(0), F::kInf), result);
  result = choose(ay == F::kInf, choose(ax == T(1), T(1), choose(grows, F::kInf, T(0))), result);
  result = choose(odd, copysign(result, x), result);
  result = choose((x < T(0)) & (ax < F::kInf) & !integral, F::kNan, result);
  result = choose((x != x) | (y != y), x + y, result);
  return choose((x == T(1)) | (y == T(0)), T(1), result);
}

// Exponents whose powers are a few operations. Wherever they stand, pow gives these bits.
template <class T>
KILN_MATH bool is_simple_exponent(T y) {
  return (y == T(2)) | (y == T(3)) | (y == T(0.5));
}
KILN_MATH double cube(double x) { return x * x * x; }
// x^2 in two parts times x: rounded about once. A square out of range has no second part.
KILN_MATH float cube(float x) {
  const float square = x * x;
  const float lost = fma(x, x, -square);
  const float both = fma(square, x, lost * x);
  return square <= Format<float>::kMax ? both : square * x;
}
template <class T>
KILN_MATH T root(T x) {
  const T positive = sqrt(x) + T(0);  // not -0
  return choose(x == -Format<T>::kInf, Format<T>::kInf, positive);
}
template <class T>
KILN_MATH T simple_power(T x, T y) {
  return choose(y == T(2), x * x, choose(y == T(3), cube(x), root(x)));
}

// |x|^y between the edges.
KILN_MATH double power_inside(double x, double y) {
  const LogParts<double> parts = log_parts(abs(x));
  const Sum<double> l = log_pair(parts.k, parts.m);
  const double ay = choose(abs(y) > 0x1p80, copysign(0x1p80, y), y);  // far beyond every finite result but 1
  const double e = l.hi * ay;
  const double e_lo = fma(l.hi, ay, -e) + l.lo * ay;
  const double bounded = choose(e > 710.0, 710.0, choose(e < -746.0, -746.0, e));
  const double lo = choose(bounded == e, e_lo, 0.0);
  const ExpParts<double> p = exp_parts(bounded);
  return scale(1.0 + fma(p.p, lo, p.p + lo), p.n);
}
// log2(1 + f) / f for sqrt(1/2) <= 1 + f <= sqrt(2), error 2^-33: the result is f32.
KILN_MATH double coarse_log2(double f) {
  return horner(f, 0x1.71547652ef95cp0, -0x1.7154767baf1b8p-1, 0x1.ec709c00ed8afp-2, -0x1.715435eb26d71p-2,
                0x1.277732ceabdb6p-2, -0x1.ec8d73fc2b0dap-3, 0x1.a615cb73833ddp-3, -0x1.6eb028a1653a8p-3,
                0x1.45a28eaef8e3ap-3, -0x1.417ff63684f84p-3, 0x1.3d261486a9394p-3, -0x1.61ac7a382b85p-4);
}
KILN_MATH float power_inside(float x, float y) {
  const LogParts<double> parts = log_parts<true>(static_cast<double>(abs(x)));
  const double f = parts.m - 1.0;
  double e = fma(f, coarse_log2(f), parts.k) * static_cast<double>(y);
  e = e > 200.0 ? 200.0 : e;
  e = e < -200.0 ? -200.0 : e;
  return static_cast<float>(coarse_exp2(e));
}

template <class T>
KILN_MATH T pow(T x, T y) {
  const T result = pow_special(x, y, power_inside(x, y));
  return choose(is_simple_exponent(y), simple_power(x, y), result);
}
// Where there is no edge, neither in x nor in y: `power_inside` is all of it.
template <class T>
KILN_MATH bool is_plain_power(T x, T y) {
  using F = Format<T>;
  return (x > T(0)) & (x <= F::kMax) & (abs(y) <= F::kMax) & !is_simple_exponent(y);
}

// Integers wrap; `bad` is set for a negative exponent. A block of small ones takes as many steps for all.
inline constexpr int kSmallExponentBits = 5;
template <bool kInRange = false, class T>
KILN_MATH T pow_int(T base, T exponent, unsigned& bad) {
  T result = 1;
  if constexpr (kInRange) {
    for (int bit = 0; bit < kSmallExponentBits; ++bit) {
      result = mul(result, (exponent >> bit & 1) != 0 ? base : T(1));
      base = mul(base, base);
    }
  } else {
    bad |= exponent < 0 ? 1U : 0U;
    for (T left = exponent < 0 ? T(0) : exponent; left != 0; left >>= 1) {
      if ((left & 1) != 0) result = mul(result, base);
      base = mul(base, base);
    }
  }
  return result;
}

// A block of plain powers, or of small integer exponents, takes the form without branches.
template <class T>
KILN_MATH bool power_in_range([[maybe_unused]] T x, T y) {
  if constexpr (kIsFloating<T>) {
    return is_plain_power(x, y);
  } else {
    return (y >= 0) & (y < (1 << kSmallExponentBits));
  }
}
template <bool kInRange, class T>
KILN_MATH T power(T base, T exponent, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    return kInRange ? power_inside(base, exponent) : pow(base, exponent);
  } else {
    return pow_int<kInRange>(base, exponent, bad);
  }
}

}  // namespace kiln::math
