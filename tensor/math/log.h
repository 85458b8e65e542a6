// Owns the logarithms and what is made of them: log log2 log10 log1p asinh acosh atanh softplus log_sigmoid.
// Bounds, in ULP: log log1p 1, log2 log10 2 (f32: 1.5), asinh acosh atanh 2 (f32: asinh acosh 1, through
// f64).
#pragma once

#include "tensor/math/exp.h"

namespace kiln::math {

// Positive, normal and finite: loops check their block, and then call the `…<true>` forms.
template <class T>
KILN_MATH bool log_in_range(T x) {
  return (x >= Format<T>::kMinNormal) & (x <= Format<T>::kMax);
}

// x = 2^k * m with sqrt(1/2) <= m < sqrt(2), of a positive finite x; kInRange: a normal one.
template <class T>
struct LogParts {
  T k, m;
};
template <bool kInRange = false, class T>
KILN_MATH LogParts<T> log_parts(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr T kRaise = static_cast<T>(F::kMantissa + 2);
  const bool subnormal = !kInRange && x < F::kMinNormal;
  const T normal = subnormal ? x * (F::kTwoToMantissa * T(4)) : x;
  const Bits bits = to_bits(normal);
  const Bits above = bits - to_bits(T(0.70710678118654752440));  // k in the exponent's place, then fraction
  const T m = from_bits(static_cast<Bits>(bits - (above & (F::kSign | F::kExponent))));
  T k;
  if constexpr (sizeof(T) == 4) {
    k = static_cast<T>(static_cast<Int32>(above) >> F::kMantissa);
  } else {  // few machines convert 64 bits in vectors: an exponent that is not negative, as the low bits of a
            // float
    const Bits biased = (above + F::kOne) >> F::kMantissa;
    k = from_bits(static_cast<Bits>(biased | to_bits(F::kTwoToMantissa))) -
        (F::kTwoToMantissa + static_cast<T>(F::kOne >> F::kMantissa));
  }
  return {subnormal ? k - kRaise : k, m};
}

// (log(1+f) - f) / f^2, error 2^-24.9.
KILN_MATH float log_tail(float f) {
  return horner(f, -0x1.fffffep-2F, 0x1.555548p-2F, -0x1.000222p-2F, 0x1.99a7a8p-3F, -0x1.5487ep-3F,
                0x1.224468p-3F, -0x1.0bf562p-3F, 0x1.08a6c8p-3F, -0x1.4969f2p-4F);
}
// (log(1+f) - 2s) / s^3 as a function of z = s^2, s = f / (2+f), error 2^-51.5 (the series of fdlibm, own
// coefficients).
KILN_MATH double log_series(double z) {
  return horner(z, 0x1.5555555555558p-1, 0x1.99999999952b9p-2, 0x1.2492492dfb9b8p-2, 0x1.c71c62d649d8cp-3,
                0x1.7462b925f9ff4p-3, 0x1.39fdcbbcecb5fp-3, 0x1.2b5f5b2f8447p-3);
}

// Zero, negative, infinite and NaN arguments.
template <class T>
KILN_MATH T log_special(T x, T inside) {
  using F = Format<T>;
  const T not_positive = x == T(0) ? -F::kInf : F::kNan;
  const T positive = x < F::kInf ? inside : x;  // infinity and NaN are their own
  return x <= T(0) ? not_positive : positive;
}

// log(1 + f) + correction + k ln2.
KILN_MATH float log_sum(float k, float f, float correction) {
  const float low = fma(f * f, log_tail(f), fma(k, ExpConstants<float>::kLn2Lo, correction));
  return fma(k, ExpConstants<float>::kLn2Hi, f + low);
}
KILN_MATH double log_sum(double k, double f, double correction) {
  // 32 bits of ln2: its products with k are exact.
  constexpr double kLn2Hi = 0x1.62e42feep-1, kLn2Lo = 0x1.a39ef35793c76p-33;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half = 0.5 * f * f;
  const double low = fma(s, fma(z, log_series(z), half), fma(k, kLn2Lo, correction));
  return k * kLn2Hi - ((half - low) - f);
}

// log(1 + f) + k ln2. In f32, ln2 rounded is good enough for every k that is not far from the result.
KILN_MATH float log_inside(float k, float f) {
  return fma(k, ExpConstants<float>::kLn2Hi, fma(f * f, log_tail(f), f));
}
KILN_MATH double log_inside(double k, double f) { return log_sum(k, f, 0.0); }
template <bool kInRange = false, class T>
KILN_MATH T log(T x) {
  const LogParts<T> parts = log_parts<kInRange>(x);
  const T inside = log_inside(parts.k, parts.m - T(1));
  return kInRange ? inside : log_special(x, inside);
}

// x / (1 - x), of an x that was clamped to [eps, 1 - eps] unless eps is nan.
template <class T>
KILN_MATH T odds(T x, double eps) {
  const T low = static_cast<T>(eps), high = static_cast<T>(1.0 - eps);
  const T held = x < low ? low : x > high ? high : x;
  return held / (T(1) - held);
}

// log(1 + x): of the rounded sum u, plus what the rounding lost, over u.
template <class T>
KILN_MATH bool log1p_in_range(T x) {
  return (x > T(-1)) & (x <= Format<T>::kMax);
}
template <bool kInRange = false, class T>
KILN_MATH T log1p(T x) {
  const T u = T(1) + x;
  const LogParts<T> parts = log_parts<kInRange>(u);
  const T lost = x > T(1) ? T(1) - (u - x) : x - (u - T(1));
  const bool near_one = parts.k == T(0);
  const T f = near_one ? x : parts.m - T(1);
  const T sum = copysign(log_sum(parts.k, f, near_one ? T(0) : lost / u), x);
  return kInRange || log1p_in_range(x) ? sum : log_special(u, sum);
}

KILN_MATH float log2_inside(float k, float f) {
  return fma(f,
             horner(f, 0x1.715476p0F, -0x1.71547p-1F, 0x1.ec7144p-2F, -0x1.715b18p-2F, 0x1.27655ap-2F,
                    -0x1.ea821p-3F, 0x1.a5b69ap-3F, -0x1.8b4f9p-3F, 0x1.709a6ep-3F, -0x1.94aab8p-4F),
             k);
}
KILN_MATH float log10_inside(float k, float f) {
  const float p =
      f * horner(f, 0x1.bcb7b2p-2F, -0x1.bcb7aap-3F, 0x1.2879b8p-3F, -0x1.bcbe84p-4F, 0x1.640586p-4F,
                 -0x1.27a13cp-4F, 0x1.f28a18p-5F, -0x1.cf452cp-5F, 0x1.e80a96p-5F, -0x1.40b4f8p-5F);
  return fma(k, 0x1.344136p-2F, fma(k, -0x1.ec10cp-27F, p));
}
// log(1+f) as an unevaluated sum, times a constant given as one.
KILN_MATH double log_scaled(double base_hi, double base_lo, double f, double inv_hi, double inv_lo) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half = 0.5 * f * f;
  const double hi = f - half;
  const double lo = ((f - hi) - half) + s * fma(z, log_series(z), half);
  const double product = hi * inv_hi;
  const double rest = fma(hi, inv_hi, -product) + fma(lo, inv_hi, hi * inv_lo);
  const double sum = base_hi + product;
  return sum + (((base_hi - sum) + product) + (rest + base_lo));
}
KILN_MATH double log2_inside(double k, double f) {
  return log_scaled(k, 0.0, f, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56);
}
KILN_MATH double log10_inside(double k, double f) {
  constexpr double kHi = 0x1.34413509f79ffp-2, kLo = -0x1.9dc1da994fd21p-59;
  const double hi = k * kHi;
  return log_scaled(hi, fma(k, kHi, -hi) + k * kLo, f, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}
template <bool kInRange = false, class T>
KILN_MATH T log2(T x) {
  const LogParts<T> parts = log_parts<kInRange>(x);
  const T inside = log2_inside(parts.k, parts.m - T(1));
  return kInRange ? inside : log_special(x, inside);
}
template <bool kInRange = false, class T>
KILN_MATH T log10(T x) {
  const LogParts<T> parts = log_parts<kInRange>(x);
  const T inside = log10_inside(parts.k, parts.m - T(1));
  return kInRange ? inside : log_special(x, inside);
}

// Beyond this, log(2a) = log1p(a) + ln2 and squares overflow.
inline constexpr double kAsinhLarge = 0x1p500;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

KILN_MATH double asinh(double x) {
  const double a = abs(x);
  const bool large = a > kAsinhLarge;
  const double t = large ? 0.0 : a;
  const double grown = t + t * t / (1.0 + sqrt(fma(t, t, 1.0)));
  return copysign(log1p(large ? a : grown) + (large ? kLn2 : 0.0), x);
}
KILN_MATH double acosh(double x) {
  const bool large = x > kAsinhLarge;
  const double t = large ? 0.0 : x - 1.0;
  const double grown = t + sqrt(fma(t, t, t + t));
  const double result = log1p(large ? x : grown) + (large ? kLn2 : 0.0);
  return x < 1.0 ? Format<double>::kNan : result;
}
KILN_MATH double atanh(double x) {
  const double a = abs(x);
  return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}
KILN_MATH float asinh(float x) { return static_cast<float>(asinh(static_cast<double>(x))); }
KILN_MATH float acosh(float x) { return static_cast<float>(acosh(static_cast<double>(x))); }

// (atanh(a) - a) / a^3 as a function of z = a^2 <= 1/4, error 2^-29.4.
KILN_MATH float atanh_tail(float z) {
  return horner(z, 0x1.55554p-2F, 0x1.99a678p-3F, 0x1.234d64p-3F, 0x1.e403bap-4F, 0x1.a69f56p-5F,
                0x1.6943fcp-3F);
}
KILN_MATH float atanh(float x) {
  const float a = abs(x), z = a * a;
  const float small = fma(a * z, atanh_tail(z), a);
  const LogParts<float> parts = log_parts<true>((1.0F + a) / (1.0F - a));
  const float large = 0.5F * log_inside(parts.k, parts.m - 1.0F);
  const float beyond = a == 1.0F ? Format<float>::kInf : Format<float>::kNan;
  return copysign(a < 0.5F ? small : a < 1.0F ? large : beyond, x);
}

// log(1 + e), 0 <= e <= 1: as a function of s = e / (2 + e), 2s + s^3 P(s^2); errors of P 2^-27.7 and 2^-58.
KILN_MATH float log1p_series(float z) {
  return horner(z, 0x1.555502p-1F, 0x1.99d1ccp-2F, 0x1.1ec042p-2F, 0x1.1eca06p-2F);
}
KILN_MATH double log1p_series(double z) {
  return horner(z, 0x1.555555555557ap-1, 0x1.99999999970bcp-2, 0x1.2492492434bb4p-2, 0x1.c71c72b1d9549p-3,
                0x1.745cdbef72103p-3, 0x1.3b1b35036183bp-3, 0x1.10833c618b643p-3, 0x1.ee87821bc3ad6p-4,
                0x1.5a03be8054b4ap-4, 0x1.599b4fb9114ebp-3);
}
// 2s = e - s e: exact but for the product.
template <class T>
KILN_MATH T log1p_unit(T e) {
  const T s = e / (T(2) + e);
  const T z = s * s;
  return e - s * fma(-z, log1p_series(z), e);
}
// log(1 + e^x) without overflow.
template <class T>
KILN_MATH T log1p_exp(T x) {
  return (x > T(0) ? x : T(0)) + log1p_unit(exp(-abs(x)));
}
template <class T>
KILN_MATH T log_sigmoid(T x) {
  return (x < T(0) ? x : T(0)) - log1p_unit(exp(-abs(x)));
}

}  // namespace kiln::math
