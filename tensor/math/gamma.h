// Owns lgamma, digamma and polygamma, in double: with branches for every argument, without in range.
// Bounds, in ULP: lgamma 4 (f32: 2) for x > 0; digamma and polygamma 12 (f32: 1) for x > 0, of 1 where
// digamma is less than that. For x < 0 the absolute error is of that order relative to the largest term of
// the reflection.
#pragma once

#include "tensor/math/pow.h"
#include "tensor/math/trig.h"

namespace kiln::math {

inline constexpr double kPi = 0x1.921fb54442d18p1;

// sin(pi x) and cos(pi x) with the argument reduced exactly.
KILN_MATH double sin_pi(double x) {
  const double n = rint(x);
  const double s = sin<true>(kPi * (x - n));
  return rint(n * 0.5) == n * 0.5 ? s : -s;
}
KILN_MATH double tan_pi(double x) { return tan<true>(kPi * (x - rint(x))); }

// lgamma(1 + t), |t| <= 1/2: t times a Chebyshev interpolant, error 2^-55.8.
KILN_MATH double lgamma_near_one(double t) {
  return 0.0 +
         t * horner(t, -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab37cp-2,
                    0x1.151322ac7d8e9p-2, -0x1.a8b9c17a91284p-3, 0x1.5b40cb0ff7e2cp-3, -0x1.2703a1e53cd44p-3,
                    0x1.010b36b799ac3p-3, -0x1.c8066cfb76ec6p-4, 0x1.9a01e02e1bc0ep-4, -0x1.748ca0044fd2dp-4,
                    0x1.556b3fe9a66f6p-4, -0x1.3b14e848a2d53p-4, 0x1.248e72b0a7186p-4, -0x1.118acc50ec441p-4,
                    0x1.007509e47a025p-4, -0x1.d8fbcda10e84fp-5, 0x1.be79bd2aebac5p-5, -0x1.ea4aa627b4073p-5,
                    0x1.d2f7f4a6085fbp-5, -0x1.db7126487ed80p-7, 0x1.b4fc9a43dac9fp-7, -0x1.28eb1f4f52ce4p-3,
                    0x1.1ef5d11df4a3dp-3, 0x1.3914b3aa0e424p-3, -0x1.3046d605c1822p-3, -0x1.cc35b376ce280p-3,
                    0x1.bdb3d7629dd5ep-3);
}
// lgamma(2 + t) likewise, error 2^-61.5.
KILN_MATH double lgamma_near_two(double t) {
  return 0.0 + t * horner(t, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a55760ap-4,
                          0x1.51322ac7d848ap-6, -0x1.e404fc218dbaep-8, 0x1.7add6eadb5317p-9,
                          -0x1.38ac5c2d48207p-10, 0x1.0b36af8779ca0p-11, -0x1.d3fd4b679c1c4p-13,
                          0x1.a127afee53e7dp-14, -0x1.78de9ab752b81p-15, 0x1.580e0afa55850p-16,
                          -0x1.3cb3be36ad88bp-17, 0x1.258f3057730fap-18, -0x1.1276ebd557fb0p-19,
                          0x1.012012be3900ap-20, -0x1.ce17528bcf460p-22, 0x1.b40adb09a1e12p-23,
                          -0x1.2009c1a550d0dp-23, 0x1.11fa5e7c86f7bp-24);
}
KILN_MATH_SLOW double lgamma_positive(double x) {
  if (x < 0.5) return lgamma_near_one(x) - log(x);
  if (x <= 1.5) return lgamma_near_one(x - 1.0);
  if (x < 8.0) {
    double product = 1.0;
    while (x > 2.5) product *= x -= 1.0;
    return lgamma_near_two(x - 2.0) + log(product);
  }
  // Stirling's series.
  const double w = 1.0 / x, z = w * w;
  const double tail = w * horner(z, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                                 -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10,
                                 0x1.a41a41a41a41ap-8, -0x1.e4286cb0f5398p-6);
  return (x - 0.5) * (log(x) - 1.0) + (0x1.d67f1c864beb5p-1 - 0.5 + tail);
}
KILN_MATH double lgamma_any(double x) {
  constexpr double kInf = Format<double>::kInf;
  if (isnan(x)) return x;
  if (abs(x) == kInf) return kInf;
  if (x > 0.0) return lgamma_positive(x);
  const double s = abs(sin_pi(x));
  if (s == 0.0) return kInf;
  if (x > -0x1p-60) return -log(-x);
  return log(kPi / (-x * s)) - lgamma_positive(-x);
}
KILN_MATH_SLOW double digamma_any(double x) {
  if (x == 0.0) return copysign(Format<double>::kInf, -x);
  double result = 0.0;
  if (x < 0.0) {
    const double t = tan_pi(x);
    if (t == 0.0) return Format<double>::kNan;
    result = -kPi / t;
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double z = 1.0 / (x * x);
  const double tail =
      z * horner(z, 0x1.5555555555555p-4, -0x1.1111111111111p-7, 0x1.0410410410410p-8, -0x1.1111111111111p-8,
                 0x1.f07c1f07c1f08p-8, -0x1.5995995995996p-6, 0x1.5555555555555p-4);
  return result + ((log(x) - 0.5 / x) - tail);
}
// sum over k >= 0 of (q+k)^-s by Euler and Maclaurin's formula, s > 1.
KILN_MATH_SLOW double zeta_from(double s, double q) {
  // From s on the terms of the formula fall by 40 each; beyond 171 all that is asked for is 0 or infinity.
  const double enough = s > 12.0 ? (s < 171.0 ? s : 171.0) : 12.0;
  double sum = 0.0;
  for (; q < enough; q += 1.0) sum += pow(q, -s);
  const double power = pow(q, -s);
  sum += power * q / (s - 1.0) + 0.5 * power;
  // B_2k / (2k)!
  constexpr double kTerms[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368e3,
                               1.0 / 74724249600.0,
                               -3617.0 / 10670622842880e3};
  double factor = s, term = power / q;
  double k = 0.0;
  for (const double b : kTerms) {
    sum += b * factor * term;
    factor *= (s + k + 1.0) * (s + k + 2.0);
    term /= q * q;
    k += 2.0;
  }
  return sum;
}
// For integers s. The terms below zero of a q far down are those of two sums above it.
KILN_MATH double zeta(double s, double q) {
  if (q <= 0.0 && rint(q) == q) return Format<double>::kInf;
  constexpr double kFar = -1024.0;
  if (!(q < kFar)) return zeta_from(s, q);
  const double above = q - floor(q);
  const double below = zeta_from(s, 1.0 - above) - zeta_from(s, 1.0 - q);
  return zeta_from(s, above) + (rint(s * 0.5) == s * 0.5 ? below : -below);
}
// The n-th derivative of digamma.
KILN_MATH double polygamma_any(long long n, double x) {
  if (n < 0) return Format<double>::kNan;  // there is none
  if (n == 0) return digamma_any(x);
  if (abs(x) == Format<double>::kInf) return x > 0.0 ? 0.0 : Format<double>::kNan;
  double factorial = 1.0;
  for (double i = 2.0; i <= static_cast<double>(n) && factorial < Format<double>::kInf; i += 1.0)
    factorial *= i;
  const double value = factorial * zeta(static_cast<double>(n) + 1.0, x);
  return n % 2 == 0 ? -value : value;
}

// ---- In range: positive, neither tiny nor huge; below kShift moved up by it, then by asymptotic series ----

inline constexpr int kShift = 10;
struct Shifted {
  double z, inverse;  // at least kShift
  bool moved;
};
KILN_MATH Shifted shift_up(double x) {
  const bool moved = x < kShift;
  const double z = moved ? x + kShift : x;
  return {z, 1.0 / z, moved};
}
// Stirling's series; the product of x, x + 1, … takes back the shift. Near its zeros the result is as good as
// its terms: enough for f32.
KILN_MATH double lgamma_in_range(double x) {
  const Shifted s = shift_up(x);
  double product = x;
  for (int k = 1; k < kShift; ++k) product *= x + k;
  const double tail = s.inverse * horner(s.inverse * s.inverse, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9,
                                         0x1.a01a01a01a01ap-11, -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11,
                                         -0x1.f6ab0d9993c7dp-10);
  const double taken = log<true>(s.moved ? product : 1.0);
  const double result = (s.z - 0.5) * (log<true>(s.z) - 1.0) + ((0x1.d67f1c864beb5p-1 - 0.5 + tail) - taken);
  return x == 1.0 || x == 2.0 ? 0.0 : result;
}
// The sum of 1/x, 1/(x + 1), … as one fraction.
KILN_MATH double digamma_in_range(double x) {
  const Shifted s = shift_up(x);
  double above = 1.0, below = x;
  for (int k = 1; k < kShift; ++k) {
    above = fma(above, x + k, below);
    below *= x + k;
  }
  const double z = s.inverse * s.inverse;
  const double tail =
      z * horner(z, 0x1.5555555555555p-4, -0x1.1111111111111p-7, 0x1.0410410410410p-8, -0x1.1111111111111p-8);
  return (log<true>(s.z) - 0.5 * s.inverse) - tail - (s.moved ? above / below : 0.0);
}
// Likewise the sum of squares. The series has the numbers of Bernoulli.
KILN_MATH double trigamma_in_range(double x) {
  const Shifted s = shift_up(x);
  double above = 1.0, below = x * x;
  for (int k = 1; k < kShift; ++k) {
    const double square = (x + k) * (x + k);
    above = fma(above, square, below);
    below *= square;
  }
  const double z = s.inverse * s.inverse;
  const double series =
      horner(z, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510);
  const double far = fma(s.inverse * z, series, fma(0.5, z, s.inverse));
  return s.moved ? far + above / below : far;
}

KILN_MATH bool gamma_in_range(float x) { return log_in_range(x); }
KILN_MATH bool gamma_in_range(double) { return false; }  // its bounds need the branches
template <class T>
KILN_MATH bool polygamma_in_range(long long n, T x) {
  constexpr T kBound = sizeof(T) == 8 ? T(1e14) : Format<T>::kMax;
  return (n == 1) & (x >= T(1) / kBound) & (x <= kBound);
}
template <bool kInRange = false, class T>
KILN_MATH T lgamma(T x) {
  const auto wide = static_cast<double>(x);
  return static_cast<T>(kInRange || gamma_in_range(x) ? lgamma_in_range(wide) : lgamma_any(wide));
}
template <bool kInRange = false, class T>
KILN_MATH T digamma(T x) {
  const auto wide = static_cast<double>(x);
  return static_cast<T>(kInRange || gamma_in_range(x) ? digamma_in_range(wide) : digamma_any(wide));
}
// `kInRange` promises n = 1.
template <bool kInRange = false, class T>
KILN_MATH T polygamma(long long n, T x) {
  const auto wide = static_cast<double>(x);
  return static_cast<T>(kInRange || polygamma_in_range(n, x) ? trigamma_in_range(wide)
                                                             : polygamma_any(n, wide));
}

}  // namespace kiln::math
