// Owns erf, erfc, erfinv and gelu. Bounds, in ULP: erf 2 (f32), 1 (f64), erfc 2 (f32), 4 (f64), erfinv 1
// (f32), 6 (f64).
#pragma once

#include "tensor/math/exp.h"
#include "tensor/math/log.h"

namespace kiln::math {

// erf(x)/x - 1 as a function of z = x^2 <= 1, errors 2^-29.5 and 2^-56.
KILN_MATH float erf_small(float z) {
  return horner(z, 0x1.06eba8p-3F, -0x1.81274p-2F, 0x1.ce2d52p-4F, -0x1.b7fec4p-6F, 0x1.542fecp-8F,
                -0x1.a5197ap-11F, 0x1.4c5cb2p-14F);
}
KILN_MATH double erf_small(double z) {
  return horner(z, 0x1.06eba8214db69p-3, -0x1.812746b0379fdp-2, 0x1.ce2f21a04362dp-4, -0x1.b82ce312abf03p-6,
                0x1.565bcd1299007p-8, -0x1.c02db49b01882p-11, 0x1.f9a335375a61dp-14, -0x1.f4d3336b97c27p-17,
                0x1.b9ee93d075b6ap-20, -0x1.5f98182f5cb33p-23, 0x1.fc7803dfd6702p-27, -0x1.4676a764edbb6p-30,
                0x1.29705f988b6fbp-34);
}
// e^(a^2) erfc(a) (1 + 2a) as a function of (a-2)/(a+2), 1/2 <= a <= 28, error 2^-53.6.
KILN_MATH double erfcx_scaled(double q) {
  return horner(q, 0x1.46e80e2277953p0, -0x1.7bf5ec1700624p-4, -0x1.5407bebf32151p-3, 0x1.4ffa1e14e2241p-3,
                -0x1.bc2b9561c7c36p-5, -0x1.0742340338b96p-7, 0x1.1dd2eca53df63p-7, 0x1.4d461c07bdf83p-10,
                -0x1.7de52a86e820ap-10, -0x1.dc68ea18d979ap-12, 0x1.b0cb17af7d457p-13, 0x1.3cbb47220a9e5p-13,
                -0x1.9bc07f7e17c15p-20, -0x1.310c50c170d57p-15, -0x1.c26c699f723c7p-17, 0x1.d457c8f3446cdp-19,
                0x1.58daa36ba6074p-18, 0x1.0e2056bcecc54p-19, -0x1.9b150281548eep-21, -0x1.8fe7e9664fa9fp-20,
                0x1.2b5f07627293fp-24, 0x1.1223b4ac0d37ep-21, -0x1.274e6caf8608cp-23);
}

// erfc(a), a >= 1/2. The rounding of a^2 is made good to first order.
KILN_MATH double erfc_large(double a) {
  const double t = a > 28.0 ? 28.0 : a;
  const double square = t * t;
  const double e = exp(-square);
  const double p = erfcx_scaled((t - 2.0) / (t + 2.0)) / fma(2.0, t, 1.0);
  return fma(-e * p, fma(t, t, -square), e * p);
}

KILN_MATH double erf(double x) {
  const double a = abs(x);
  const double small = fma(a, erf_small(a > 1.0 ? 1.0 : a * a), a);
  const double large = 1.0 - erfc_large(a < 0.5 ? 0.5 : a);
  const double result = copysign(a < 1.0 ? small : large, x);
  return isnan(x) ? x : result;
}

// 1 - e^(a Q(a)) with Q fitted to log(erfc(a))/a, error 2^-27.8 of the result. As expm1 it is good for small
// a, too; there Q is its constant, in two parts.
KILN_MATH float erf(float x) {
  const float a = abs(x) > 4.0F ? 4.0F : abs(x);
  const float q =
      horner(a, 0x1.f7ac92p-25F, -0x1.45f2fep-1F, -0x1.a4f95ep-4F, 0x1.39c0dcp-6F, 0x1.5b0292p-13F,
             -0x1.b6330ap-10F, 0x1.4cfa2p-11F, -0x1.efd774p-14F, 0x1.388c74p-17F);
  const ExpParts<float> e = exp_parts(fma(a, -0x1.20dd76p0F, a * q));
  const float power = power_of_two<float>(e.n);
  return copysign(fma(power, e.p, power - 1.0F), x);
}

// e^(a^2) erfc(a) (a + k) as a function of 1 - 2k/(a + k), 0 <= a <= 10.07, error 2^-26.8: c0 + t times this.
// The k is one for which c0 is almost a float.
inline constexpr float kErfcxShift = 0x1.a5p0F, kErfcxMiddle = 0x1.f83f0ap-1F;
KILN_MATH float erfcx_slope(float t) {
  return horner(t, -0x1.22b28cp-1F, 0x1.15bf8p-3F, 0x1.0bc974p-5F, -0x1.2a5e98p-6F, -0x1.ad7d5ap-8F,
                0x1.17471cp-9F, 0x1.d47acap-10F, 0x1.1d4538p-14F, -0x1.5b72c4p-12F, -0x1.c8de62p-14F);
}
// e^(a^2) erfc(a), a >= 0, as an unevaluated sum. What rounding a + k and its inverse does to the result is
// made good to first order: (a + k) times the derivative is about -1.4 times it.
KILN_MATH Sum<float> erfcx(float a) {
  const float shifted = a + kErfcxShift;
  const float inverse = 1.0F / shifted;
  const float t = fma(-2.0F * kErfcxShift, inverse, 1.0F);
  const float slope = erfcx_slope(t);
  const float scaled = fma(t, slope, kErfcxMiddle);
  const float hi = scaled * inverse;
  const float lost = fma(fma(t, slope, kErfcxMiddle - scaled), inverse, fma(scaled, inverse, -hi));
  const float residual = fma(-inverse, a - (shifted - kErfcxShift), fma(-inverse, shifted, 1.0F));
  return {hi, fma(hi, 1.4F * residual, lost)};
}
// e^-(a^2) erfcx(a), the square made exact by what rounding it lost. Results in range are normal; for others
// the power is 2^64 times too large until the end, where they are rounded.
KILN_MATH bool erfc_in_range(float x) { return abs(x) <= 9.0F; }
KILN_MATH bool erfc_in_range(double) { return true; }
template <bool kInRange = false>
KILN_MATH double erfc(double x) {
  const double a = abs(x);
  const double small = 1.0 - copysign(fma(a, erf_small(a > 1.0 ? 1.0 : a * a), a), x);
  const double tail = erfc_large(a < 0.5 ? 0.5 : a);
  const double large = x < 0.0 ? 2.0 - tail : tail;
  const double result = a < 0.5 ? small : large;
  return isnan(x) ? x : result;
}
template <bool kInRange = false>
KILN_MATH float erfc(float x) {
  constexpr float kMost = 10.0625F;
  const float a = kInRange || !(abs(x) > kMost) ? abs(x) : kMost;
  const float square = a * a;
  const ExpReduced<float> e = exp_reduce(-square);
  const float r = e.r - fma(a, a, -square);
  const float p = fma(r * r, exp_tail(r), r);
  const Sum<float> scaled = erfcx(a);
  const float product = fma(scaled.hi, p, fma(scaled.lo, p, scaled.lo)) + scaled.hi;
  const float tail =
      kInRange ? product * power_of_two<float>(e.n) : product * power_of_two<float>(e.n + 64) * 0x1p-64F;
  return x < 0.0F ? 2.0F - tail : tail;
}

// erfinv(x) / x as a function of 8x^2 - 1, |x| <= 1/2: a Chebyshev interpolant, error 2^-57.
KILN_MATH double erfinv_small(double t) {
  return horner(t, 0x1.d5b68cab21ed6p-1, 0x1.12fc00eac5524p-5, 0x1.56a033eae04adp-9, 0x1.08877d2b56c98p-12,
                0x1.c499564c8abf7p-16, 0x1.9b356dec0d0fbp-19, 0x1.84ae0f0d8948ap-22, 0x1.79cf22ed476e7p-25,
                0x1.76fa19c72e595p-28, 0x1.7a340d2857d16p-31, 0x1.81cc9aab10e79p-34, 0x1.8e278f9035352p-37,
                0x1.b97b689b55451p-40, 0x1.d17c7b07ac5f5p-43);
}
// The number whose erfc is e^-(s^2), over s: of (s-2)/(s+2) moved to [-1, 1], for s^2 from log 2 to that of
// the least difference of a double from 1. Error 2^-55.
KILN_MATH double erfinv_tail(double s) {
  const double t = ((s - 2.0) / (s + 2.0) - 0x1.811b211946fb4p-5) * 0x1.16c4a94336908p+1;
  return s * horner(t, 0x1.b4f59372c2ae5p-1, 0x1.71034362e0ad8p-3, -0x1.5561a6d80178ap-4,
                    0x1.3e3cb232044adp-6, -0x1.bcd7e0495ac24p-11, -0x1.efcafb65ca6c1p-10,
                    0x1.16f9f133d357fp-10, -0x1.497c2e6cc316ep-12, 0x1.3830c22c7ba79p-16,
                    0x1.2d9921fd286f8p-15, -0x1.89bfcf84014a5p-16, 0x1.06020f14de41ep-17,
                    -0x1.aa268f8923506p-21, -0x1.b6d6bfd7cfbd8p-21, 0x1.486f564d52dc3p-21,
                    -0x1.e9756e4c36148p-23, 0x1.20c481e2898e3p-25, 0x1.39acb097cdc8dp-26,
                    -0x1.3ac02366b0dfcp-26, 0x1.1af94be1b2f58p-27, -0x1.e3567517473bdp-31,
                    -0x1.2c33e2984ac60p-30, 0x1.002d67a411aacp-31, -0x1.5e5bc2a889afap-35);
}
// 1 - |x| is exact where the tail is taken.
KILN_MATH double erfinv(double x) {
  const double a = abs(x);
  const double held = a > 0.5 ? 0.5 : a;
  const double small = a * erfinv_small(fma(8.0 * held, held, -1.0));
  const double left = 1.0 - (a < 0.5 ? 0.5 : a);
  const double tail = erfinv_tail(sqrt(-log(left)));
  const double result = a <= 0.5 ? small : a == 1.0 ? Format<double>::kInf : tail;
  return copysign(result, x);
}
KILN_MATH float erfinv(float x) { return static_cast<float>(erfinv(static_cast<double>(x))); }

// x times the normal distribution function of x. Beyond the range the smaller tail is nothing beside x: of
// both forms.
inline constexpr float kGeluRange = 9.0F;
KILN_MATH bool gelu_in_range(float x) { return abs(x) <= kGeluRange; }
KILN_MATH bool gelu_in_range(double x) { return abs(x) <= 20.0; }
template <bool kInRange = false>
KILN_MATH double gelu(double x) {
  return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
}
// |x|/2 2^(a Q(a)) below x or 0, Q fitted to log2(erfc(a / sqrt(2)))/a, error 2^-24.8 of the tail up to 2.5,
// then of x.
template <bool kInRange = false>
KILN_MATH float gelu(float x) {
  const float a = kInRange || abs(x) <= kGeluRange ? abs(x) : kGeluRange;
  const float q =
      horner(a, -0x1.26aedcp0F, -0x1.d63a7p-2F, -0x1.adf126p-5F, 0x1.cb4e16p-8F, -0x1.a3a7aap-15F,
             -0x1.0bac06p-12F, 0x1.219c08p-14F, -0x1.4168acp-17F, 0x1.7deffep-21F, -0x1.7bc73ep-26F);
  constexpr float kHalved = Format<float>::kMagic - 1.0F;  // the power is half as large
  const float shifted = fma(a, q, kHalved);
  const float r = fma(a, q, kHalved - shifted);
  const float tail = scale_normal(fma(r, exp2_tail(r), 1.0F), to_bits(shifted));
  // x or 0 of its sign: in range without the product, which is nan for -inf.
  const float positive = kInRange ? (x < -0.0F ? -0.0F : x) : (x > 0.0F ? x : x * 0.0F);
  const float inside = fma(-a, tail, positive);
  return kInRange || abs(x) <= kGeluRange ? inside : positive;
}
// x (1 + tanh(t)) / 2 = x / (1 + e^-2t), t = sqrt(2/pi) (x + 0.044715 x^3).
template <bool kInRange = false, class T>
KILN_MATH T gelu_tanh(T x) {
  const T t = T(-1.5957691216057308) * fma(T(0.044715) * x * x, x, x);
  if constexpr (kInRange) {
    return x / one_plus_exp(t);
  } else {
    const T inside = x / one_plus_exp(exp_bounded(t));
    return t > ExpConstants<T>::kRange ? x * T(0) : inside;
  }
}

}  // namespace kiln::math
