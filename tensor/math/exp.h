// Owns the exponential and what is made of it: exp exp2 expm1 sinh cosh tanh sigmoid.
// Bounds, in ULP: exp exp2 1, expm1 sinh cosh tanh sigmoid 2 (both precisions).
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
  static constexpr float kLeastM1 = -18.0F;                   // expm1 is -1 below
  static constexpr float kTanhMost = 10.0F;                   // tanh is 1 above
};
template <>
struct ExpConstants<double> {
  static constexpr double kInvLn2 = 0x1.71547652b82fep0;
  static constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
  static constexpr double kLeast = -746.0, kMost = 710.0;
  static constexpr double kLeast2 = -1076.0, kMost2 = 1025.0;
  static constexpr double kLeastM1 = -38.0;
  static constexpr double kTanhMost = 22.0;
};

// (e^r - 1 - r) / r^2 on [-ln2/2, ln2/2]; minimax by Sollya's fpminimax, error 2^-28.8 and 2^-59.
KILN_MATH float exp_tail(float r) {
  return horner(r, 0x1p-1F, 0x1.555556p-3F, 0x1.5555p-5F, 0x1.110fc2p-7F, 0x1.6d3096p-10F, 0x1.a2d944p-13F);
}
KILN_MATH double exp_tail(double r) {
  return horner(r, 0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555557p-5, 0x1.1111111110042p-7,
                0x1.6c16c16c1569bp-10, 0x1.a01a01ac299dcp-13, 0x1.a01a01ab9eda6p-16, 0x1.71de0181a768fp-19,
                0x1.27e4cf9b08ab5p-22, 0x1.af4f2d00b438ap-26, 0x1.1f8718ba82d23p-29);
}
// (2^r - 1) / r on [-1/2, 1/2]; error 2^-28.4 and 2^-54.7.
KILN_MATH float exp2_tail(float r) {
  return horner(r, 0x1.62e43p-1F, 0x1.ebfbep-3F, 0x1.c6b06cp-5F, 0x1.3b2a54p-7F, 0x1.5da9bp-10F,
                0x1.44176p-13F, 0x1.d9f034p-17F);
}
KILN_MATH double exp2_tail(double r) {
  return horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a1d1p-5, 0x1.3b2ab6fba51a1p-7,
                0x1.5d87fe787529dp-10, 0x1.430912f755655p-13, 0x1.ffcbfd44215p-17, 0x1.62c0272dcc24dp-20,
                0x1.b5233e2621322p-24, 0x1.e4bb8386d5d91p-28, 0x1.ec5de15e81096p-32, 0x1.e0f3bd60117ecp-36);
}

// 2^n of an integral n, |n| < 2^(exponent bits - 1).
template <class T>
KILN_MATH T power_of_two(T n) {
  using F = Format<T>;
  return from_bits(static_cast<typename F::Bits>((to_bits(n + F::kMagic) << F::kMantissa) + F::kOne));
}
// x * 2^n in two steps, so that results beyond the range and subnormal ones are rounded once.
template <class T>
KILN_MATH T scale(T x, T n) {
  const T half = (n * static_cast<T>(0.5) + Format<T>::kMagic) - Format<T>::kMagic;
  return x * power_of_two(half) * power_of_two(n - half);
}

// e^x = 2^n * (1 + p): x = n ln2 + r.
template <class T>
struct ExpParts {
  T n, p;
};
template <class T>
KILN_MATH ExpParts<T> exp_parts(T x) {
  using C = ExpConstants<T>;
  const T n = fma(x, C::kInvLn2, Format<T>::kMagic) - Format<T>::kMagic;
  const T r = fma(-n, C::kLn2Lo, fma(-n, C::kLn2Hi, x));
  return {n, fma(r * r, exp_tail(r), r)};
}

template <class T>
KILN_MATH T exp(T x) {
  using C = ExpConstants<T>;
  x = x > C::kMost ? C::kMost : x;
  x = x < C::kLeast ? C::kLeast : x;
  const ExpParts<T> e = exp_parts(x);
  return scale(T(1) + e.p, e.n);
}

template <class T>
KILN_MATH T exp2(T x) {
  using C = ExpConstants<T>;
  x = x > C::kMost2 ? C::kMost2 : x;
  x = x < C::kLeast2 ? C::kLeast2 : x;
  const T n = (x + Format<T>::kMagic) - Format<T>::kMagic;
  const T r = x - n;
  return scale(fma(r, exp2_tail(r), T(1)), n);
}

// 2^n p + (2^n - 1), halved until the end: 2^n may be just out of range. Signed as x: zeros keep theirs.
template <class T>
KILN_MATH T expm1_of(const ExpParts<T>& e, T x) {
  const T half = power_of_two(e.n - T(1));
  const T general = T(2) * fma(half, e.p, half - T(0.5));
  return copysign(e.n == T(0) ? e.p : general, x);
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
  return scale(T(1) + e.p, e.n - T(1));
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
template <class T>
KILN_MATH T tanh(T x) {
  constexpr T kMost = ExpConstants<T>::kTanhMost;
  const T a = abs(x), z = a * a;
  const ExpParts<T> e = exp_parts(T(2) * (a > kMost ? kMost : a));
  const T large = T(1) - T(2) / fma(power_of_two(e.n), T(1) + e.p, T(1));
  return copysign(a < T(0.6) ? fma(a * z, tanh_tail(z), a) : large, x);
}

// By e^-|x|, which neither overflows nor loses small results.
template <class T>
KILN_MATH T sigmoid(T x) {
  const T e = exp(-abs(x));
  const Sum<T> q = quotient(Sum<T>{x < T(0) ? e : T(1), T(0)}, quick_sum(T(1), e));
  return q.hi + q.lo;
}

}  // namespace kiln::math
