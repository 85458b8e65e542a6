// Owns the exponential and what is made of it: exp exp2 expm1 sinh cosh tanh sigmoid silu.
// Bounds, in ULP: exp exp2 1, expm1 sinh cosh tanh sigmoid 2, silu 2.5 (both precisions).
#pragma once

#include "tensor/math/basic.h"

namespace kiln::math {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float kInvLn2 = 0x1.715476p0F;
  static constexpr float kLn2Hi = 0x1.62e430p-1F, kLn2Lo = -0x1.05c61p-29F;
  static constexpr float kLeast = -104.0F, kMost = 89.0F;     // exp is 0 below, infinite above
  static constexpr float kLeast2 = -151.0F, kMost2 = 129.0F;  // likewise exp2
  static constexpr float kRange = 87.0F, kRange2 = 126.0F;    // within, results are normal
  // Up to kSmall, 2^kLift e^x is normal. An even lift leaves ties as they are.
  static constexpr float kSmall = 69.0F, kLift = 26.0F, kDown = 0x1p-26F;
  static constexpr float kLeastM1 = -18.0F;  // expm1 is -1 below
  static constexpr float kTanhMost = 10.0F;  // tanh is 1 above
};
template <>
struct ExpConstants<double> {
  static constexpr double kInvLn2 = 0x1.71547652b82fep0;
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kLeast = -746.0, kMost = 710.0;
  static constexpr double kLeast2 = -1076.0, kMost2 = 1025.0;
  static constexpr double kRange = 708.0, kRange2 = 1022.0;
  static constexpr double kSmall = 660.0, kLift = 64.0, kDown = 0x1p-64;
  static constexpr double kLeastM1 = -38.0;
  static constexpr double kTanhMost = 22.0;
};

// (e^r - 1 - r) / r^2 on [-ln2/2, ln2/2]; minimax, errors of e^r 2^-28.2 and 2^-59.
KILN_MATH float exp_tail(float r) {
  return horner(r, 0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558bep-5F, 0x1.1239ecp-7F, 0x1.6a4002p-10F);
}
KILN_MATH double exp_tail(double r) {
  return horner(r, 0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555557p-5, 0x1.1111111110042p-7,
                0x1.6c16c16c1569bp-10, 0x1.a01a01ac299dcp-13, 0x1.a01a01ab9eda6p-16, 0x1.71de0181a768fp-19,
                0x1.27e4cf9b08ab5p-22, 0x1.af4f2d00b438ap-26, 0x1.1f8718ba82d23p-29);
}
// (2^r - 1) / r on [-1/2, 1/2]; errors of 2^r 2^-28.3 and 2^-54.7.
KILN_MATH float exp2_tail(float r) {
  return horner(r, 0x1.62e43p-1F, 0x1.ebfbdcp-3F, 0x1.c6af7ap-5F, 0x1.3b2dep-7F, 0x1.5f09a6p-10F,
                0x1.416d08p-13F);
}
KILN_MATH double exp2_tail(double r) {
  return horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a1d1p-5, 0x1.3b2ab6fba51a1p-7,
                0x1.5d87fe787529dp-10, 0x1.430912f755655p-13, 0x1.ffcbfd44215p-17, 0x1.62c0272dcc24dp-20,
                0x1.b5233e2621322p-24, 0x1.e4bb8386d5d91p-28, 0x1.ec5de15e81096p-32, 0x1.e0f3bd60117ecp-36);
}

// Integral exponents n are kept as the bits of n + kMagic, in whose low bits they stand.
template <class T>
using ExponentOf = typename Format<T>::Bits;
// 2^n, |n| < 2^(exponent bits - 1).
template <class T>
KILN_MATH T power_of_two(ExponentOf<T> n) {
  return from_bits(static_cast<ExponentOf<T>>((n << Format<T>::kMantissa) + Format<T>::kOne));
}
// x * 2^n where that is a normal number, as x is: an addition to its exponent.
template <class T>
KILN_MATH T scale_normal(T x, ExponentOf<T> n) {
  return from_bits(static_cast<ExponentOf<T>>(to_bits(x) + (n << Format<T>::kMantissa)));
}
// x * 2^n in two steps, so that results beyond the range and subnormal ones are rounded once.
template <class T>
KILN_MATH T scale(T x, ExponentOf<T> n) {
  using F = Format<T>;
  constexpr ExponentOf<T> kExponentAndSign = F::kSign | F::kExponent;
  const ExponentOf<T> half =
      (n << (F::kMantissa - 1)) & kExponentAndSign;  // n/2, down, at its place in a float
  const ExponentOf<T> rest = (n << F::kMantissa) - half;
  return x * from_bits(static_cast<ExponentOf<T>>(half + F::kOne)) *
         from_bits(static_cast<ExponentOf<T>>(rest + F::kOne));
}

// x = n ln2 + r.
template <class T>
struct ExpReduced {
  ExponentOf<T> n;
  T r;
};
template <class T>
KILN_MATH T exp_rest(T x, T n) {
  using C = ExpConstants<T>;
  return fma(-n, C::kLn2Lo, fma(-n, C::kLn2Hi, x));
}
template <class T>
KILN_MATH ExpReduced<T> exp_reduce(T x) {
  const T shifted = fma(x, ExpConstants<T>::kInvLn2, Format<T>::kMagic);
  return {to_bits(shifted), exp_rest(x, shifted - Format<T>::kMagic)};
}
// e^x = 2^n * (1 + p).
template <class T>
struct ExpParts {
  ExponentOf<T> n;
  T p;
};
template <class T>
KILN_MATH ExpParts<T> exp_parts(T x) {
  const ExpReduced<T> e = exp_reduce(x);
  return {e.n, fma(e.r * e.r, exp_tail(e.r), e.r)};
}
// e^r on [-ln2/2, ln2/2].
template <class T>
KILN_MATH T exp_of_reduced(T r) {
  return fma(r, fma(r, exp_tail(r), T(1)), T(1));
}

// Where results are normal: loops check their block, and then call the `…<true>` forms.
template <class T>
KILN_MATH bool exp_in_range(T x) {
  return abs(x) <= ExpConstants<T>::kRange;
}
// Where exp<true> may be called: not for nan, nor for what is large.
template <class T>
KILN_MATH bool exp_is_small(T x) {
  return x <= ExpConstants<T>::kSmall;
}
// The exponent is lifted, so that results are normal; the way back rounds those once that are not.
template <class T>
KILN_MATH T exp_small(T x) {
  using C = ExpConstants<T>;
  constexpr T kLifted = Format<T>::kMagic + C::kLift;
  x = x < C::kLeast ? C::kLeast : x;
  const T shifted = fma(x, C::kInvLn2, kLifted);
  const T value = exp_of_reduced(exp_rest(x, shifted - kLifted));
  return scale_normal(value, to_bits(shifted)) * C::kDown;
}
template <bool kSmall = false, class T>
KILN_MATH T exp(T x) {
  using C = ExpConstants<T>;
  if constexpr (kSmall) return exp_small(x);
  x = x > C::kMost ? C::kMost : x;
  x = x < C::kLeast ? C::kLeast : x;
  const ExpReduced<T> e = exp_reduce(x);
  return scale(exp_of_reduced(e.r), e.n);
}

template <class T>
KILN_MATH bool exp2_in_range(T x) {
  return abs(x) <= ExpConstants<T>::kRange2;
}
template <bool kInRange = false, class T>
KILN_MATH T exp2(T x) {
  using C = ExpConstants<T>;
  if constexpr (!kInRange) {
    x = x > C::kMost2 ? C::kMost2 : x;
    x = x < C::kLeast2 ? C::kLeast2 : x;
  }
  const T shifted = x + Format<T>::kMagic;
  const T r = x - (shifted - Format<T>::kMagic);
  const T value = fma(r, exp2_tail(r), T(1));
  return kInRange ? scale_normal(value, to_bits(shifted)) : scale(value, to_bits(shifted));
}

// 2^x in range of double, for results in f32: error 2^-29.
KILN_MATH double coarse_exp2(double x) {
  const double shifted = x + Format<double>::kMagic;
  const double r = x - (shifted - Format<double>::kMagic);
  const double value =
      horner(r, 0x1.00000002614ffp0, 0x1.62e430c7e921fp-1, 0x1.ebfbdadcb0979p-3, 0x1.c6aed4b952581p-5,
             0x1.3b2dbbc11f42dp-7, 0x1.5f456a8a01359p-10, 0x1.41d3334ba02b3p-13);
  return value * power_of_two<double>(to_bits(shifted));
}

// 2^n p + (2^n - 1), halved until the end: 2^n may be just out of range. Signed as x: zeros keep theirs.
template <class T>
KILN_MATH T expm1_of(const ExpParts<T>& e, T x) {
  const T half = power_of_two<T>(e.n - 1);
  const T general = T(2) * fma(half, e.p, half - T(0.5));
  return copysign(e.n == to_bits(Format<T>::kMagic) ? e.p : general, x);
}
template <class T>
KILN_MATH T expm1(T x) {
  using C = ExpConstants<T>;
  T inside = x > C::kMost ? C::kMost : x;
  inside = inside < C::kLeastM1 ? C::kLeastM1 : inside;
  return expm1_of(exp_parts(inside), x);
}

// (sinh(x) - x) / x^3 on [0, 1] and (tanh(x) - x) / x^3 on [0, 0.6] as functions of z = x^2;
// errors 2^-27.6, 2^-25 and 2^-56.6, 2^-55.6.
KILN_MATH float sinh_tail(float z) {
  return horner(z, 0x1.555556p-3F, 0x1.1110c6p-7F, 0x1.a03554p-13F, 0x1.725244p-19F);
}
KILN_MATH double sinh_tail(double z) {
  return horner(z, 0x1.5555555555555p-3, 0x1.1111111111198p-7, 0x1.a01a01a00b9c9p-13, 0x1.71de3a5e9a965p-19,
                0x1.ae6453382e734p-26, 0x1.612233a602977p-33, 0x1.b260fcaa559cdp-41);
}

KILN_MATH float tanh_tail(float z) {
  return horner(z, -0x1.555554p-2F, 0x1.110f2p-3F, -0x1.b96134p-5F, 0x1.5a3cc6p-6F, -0x1.9cb4ccp-8F);
}
KILN_MATH double tanh_tail(double z) {
  return horner(z, -0x1.5555555555555p-2, 0x1.111111111105p-3, -0x1.ba1ba1ba0b66ep-5, 0x1.664f487dad707p-6,
                -0x1.226e347a22044p-7, 0x1.d6d39f229e062p-9, -0x1.7d9fd5e0e93a8p-10, 0x1.352c1c2a3f2b4p-11,
                -0x1.f29363bf36d5cp-13, 0x1.85b2c4de87525p-14, -0x1.0952ef7e7c833p-15, 0x1.c28add0894fdap-18);
}

// e^a / 2 for a >= 0, finite as long as it can be.
template <class T>
KILN_MATH T half_exp(T a) {
  constexpr T kMost = ExpConstants<T>::kMost + T(1);
  const ExpParts<T> e = exp_parts(a > kMost ? kMost : a);
  return scale(T(1) + e.p, e.n - 1);
}
template <class T>
KILN_MATH T sinh(T x) {
  const T a = abs(x), z = a * a;
  const T half = half_exp(a);
  return copysign(a < T(1) ? fma(a * z, sinh_tail(z), a) : half - T(0.25) / half, x);
}
template <class T>
KILN_MATH T cosh(T x) {
  const T half = half_exp(abs(x));
  return half + T(0.25) / half;
}
// 1 + e^x, x in range. What is rounded on the way is less than half of the sum.
template <class T>
KILN_MATH T one_plus_exp(T x) {
  const ExpParts<T> e = exp_parts(x);
  const T power = power_of_two<T>(e.n);
  return fma(power, e.p, T(1)) + power;
}
template <class T>
KILN_MATH T tanh(T x) {
  constexpr T kMost = ExpConstants<T>::kTanhMost;
  const T a = abs(x), z = a * a;
  const T bounded = a > kMost ? kMost : a;
  const T large = T(1) - T(2) / one_plus_exp(bounded + bounded);
  return copysign(a < T(0.6) ? fma(a * z, tanh_tail(z), a) : large, x);
}

// Into the range of exp; nan stays.
template <class T>
KILN_MATH T exp_bounded(T x) {
  constexpr T kRange = ExpConstants<T>::kRange;
  const T below = x > kRange ? kRange : x;
  return below < -kRange ? -kRange : below;
}
// Beyond the range, 1 + e^-x is 1 or e^-x.
template <bool kInRange = false, class T>
KILN_MATH T sigmoid(T x) {
  if constexpr (kInRange) {
    return T(1) / one_plus_exp(-x);
  } else {
    const T inside = T(1) / one_plus_exp(exp_bounded(-x));
    return x < -ExpConstants<T>::kRange ? exp(x) : inside;
  }
}
template <bool kInRange = false, class T>
KILN_MATH T silu(T x) {
  if constexpr (kInRange) {
    return x / one_plus_exp(-x);
  } else {
    const T inside = x / one_plus_exp(exp_bounded(-x));
    return x < -ExpConstants<T>::kRange ? x * exp(x) : inside;
  }
}

}  // namespace kiln::math
