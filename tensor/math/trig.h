// Owns sin, cos and tan. Bounds, in ULP, for every argument: sin cos 1.5 (f32), 1 (f64), tan 2.
// Reduction by three-part pi/2 up to kTrigRange, in vector form; beyond by Payne and Hanek's method, one at a
// time. Loops check their block with `trig_in_range` and then call the `…<true>` form, which has no branch;
// both forms give the same bits where both hold.
#pragma once

#include "tensor/math/basic.h"

namespace kiln::math {

template <class T>
struct TrigConstants;
template <>
struct TrigConstants<float> {
  static constexpr float kRange = 0x1p16F;
  static constexpr float kTwoOverPi = 0x1.45f306p-1F;
};
template <>
struct TrigConstants<double> {
  static constexpr double kRange = 0x1p30;
  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  static constexpr double kPi2a = 0x1.921fb54442d18p0, kPi2b = 0x1.1a62633145c07p-54,
                          kPi2c = -0x1.f1976b7ed8fbcp-110;
};

template <class T>
KILN_MATH bool trig_in_range(T x) {
  return abs(x) <= TrigConstants<T>::kRange;
}

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 as functions of z = r^2, |r| <= 0.806; errors 2^-56.6,
// 2^-58.6.
KILN_MATH double sin_tail(double z) {
  return horner(z, -0x1.5555555555555p-3, 0x1.111111111102ap-7, -0x1.a01a019fed447p-13, 0x1.71de3a19db552p-19,
                -0x1.ae6408eee8a1p-26, 0x1.60f32f903f4a9p-33, -0x1.952308ec1e9dp-41);
}
KILN_MATH double cos_tail(double z) {
  return horner(z, 0x1.5555555555555p-5, -0x1.6c16c16c1684ap-10, 0x1.a01a019f14c92p-16,
                -0x1.27e4f9d2de0d9p-22, 0x1.1eeb2539162f5p-29, -0x1.904f2bbb366ap-37);
}

// |x| = (quadrant mod 4) * pi/2 + hi + lo, |hi| <= pi/4 and a little.
template <class T>
struct Reduced {
  T hi, lo;
  typename Format<T>::Bits quadrant;
};
// The first difference is exact: both are multiples of the last place of kPi2a. The next is kept as a sum.
template <class T>
KILN_MATH Reduced<T> reduce_in_range(T a) {
  using C = TrigConstants<T>;
  const T shifted = fma(a, C::kTwoOverPi, Format<T>::kMagic);
  const T n = shifted - Format<T>::kMagic;
  const T r = fma(-n, C::kPi2a, a);
  const T p = n * C::kPi2b;
  const T p_lo = fma(n, C::kPi2b, -p);
  const Sum<T> sum = exact_sum(r, -p);
  return {sum.hi, fma(-n, C::kPi2c, sum.lo - p_lo), to_bits(shifted)};
}

// The high half of a 64 by 64 bit product.
KILN_MATH UInt64 multiply_high(UInt64 a, UInt64 b) {
  const UInt64 a0 = a & 0xffffffffULL, a1 = a >> 32, b0 = b & 0xffffffffULL, b1 = b >> 32;
  const UInt64 middle = a1 * b0 + (a0 * b0 >> 32);
  const UInt64 carry = a0 * b1 + (middle & 0xffffffffULL);
  return a1 * b1 + (middle >> 32) + (carry >> 32);
}

// Bits of 2/pi after the point, with 64 zeros in front.
KILN_MATH_TABLE UInt64 kTwoOverPiBits[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

// Payne and Hanek: of m * 2^e * 2/pi only the bits below 4 matter; 192 bits of 2/pi from the first that does.
// For 2^-22 <= ulp(a), a finite.
KILN_MATH Reduced<double> reduce_large(double a) {
  const UInt64 bits = to_bits(a);
  const UInt64 m = (bits & 0x000fffffffffffffULL) | 0x0010000000000000ULL;
  const int e = static_cast<int>(bits >> 52) - 1075;
  const int first = e + 62;  // bits before it make multiples of 4
  const int word = first >> 6, shift = first & 63;
  UInt64 window[3];
  for (int i = 0; i < 3; ++i) {
    const UInt64 head = kTwoOverPiBits[word + i] << shift;
    window[i] = shift == 0 ? head : head | (kTwoOverPiBits[word + i + 1] >> (64 - shift));
  }
  // The low 192 bits of m * window: two of quadrant, then the fraction.
  const UInt64 low = m * window[2];
  const UInt64 middle = m * window[1] + multiply_high(m, window[2]);
  const UInt64 carry = middle < m * window[1] ? 1 : 0;
  const UInt64 high = m * window[0] + multiply_high(m, window[1]) + carry;
  UInt64 quadrant = high >> 62;
  UInt64 f1 = (high << 2) | (middle >> 62), f0 = (middle << 2) | (low >> 62);
  const bool upper = (f1 >> 63) != 0;  // nearer to the next quadrant: the fraction less one
  if (upper) {
    ++quadrant;
    f0 = ~f0 + 1;
    f1 = ~f1 + (f0 == 0 ? 1 : 0);
  }
  int zeros = 0;
  while (zeros < 64 && (f1 >> 63) == 0) {
    f1 = (f1 << 1) | (f0 >> 63);
    f0 <<= 1;
    ++zeros;
  }
  const double unit = from_bits((UInt64{1023 - 64} - static_cast<UInt64>(zeros)) << 52);
  const double t1 = static_cast<double>(f1 & ~0x7ffULL) * unit;
  const double t0 = (static_cast<double>(f1 & 0x7ffULL) + static_cast<double>(f0) * 0x1p-64) * unit;
  using C = TrigConstants<double>;
  const double hi = t1 * C::kPi2a;
  const double lo = fma(t1, C::kPi2a, -hi) + (t1 * C::kPi2b + t0 * C::kPi2a);
  const double sum = hi + lo;
  const double rest = lo - (sum - hi);
  return {upper ? -sum : sum, upper ? -rest : rest, quadrant};
}

template <class T>
KILN_MATH Sum<T> sin_reduced(const Reduced<T>& r) {
  const T z = r.hi * r.hi;
  return quick_sum(r.hi, fma(r.hi * z, sin_tail(z), r.lo * fma(T(-0.5), z, T(1))));
}
template <class T>
KILN_MATH Sum<T> cos_reduced(const Reduced<T>& r) {
  const T z = r.hi * r.hi;
  const T half = T(0.5) * z;
  const T main = T(1) - half;
  return quick_sum(main, ((T(1) - main) - half) + fma(z * z, cos_tail(z), -r.hi * r.lo));
}

// Sine of the angle turned by `turn` quadrants. `sign` has the sign bit to flip.
template <class T>
KILN_MATH T sin_of(const Reduced<T>& r, typename Format<T>::Bits turn, typename Format<T>::Bits sign) {
  using Bits = typename Format<T>::Bits;
  const Bits quadrant = r.quadrant + turn;
  const T value = (quadrant & 1U) != 0 ? cos_reduced(r).hi : sin_reduced(r).hi;
  const Bits flip = (quadrant & 2U) << (sizeof(T) * 8 - 2);
  return from_bits(static_cast<Bits>(to_bits(value) ^ flip ^ sign));
}
template <class T>
KILN_MATH T tan_of(const Reduced<T>& r, typename Format<T>::Bits sign) {
  using Bits = typename Format<T>::Bits;
  const Sum<T> s = sin_reduced(r), c = cos_reduced(r);
  const bool odd = (r.quadrant & 1U) != 0;
  const Sum<T> q =
      quotient(Sum<T>{odd ? -c.hi : s.hi, odd ? -c.lo : s.lo}, Sum<T>{odd ? s.hi : c.hi, odd ? s.lo : c.lo});
  const T value = q.hi + q.lo;
  return from_bits(static_cast<Bits>(to_bits(value) ^ sign));
}

KILN_MATH_SLOW Reduced<double> reduce_any(double a) {
  return a <= TrigConstants<double>::kRange ? reduce_in_range(a) : reduce_large(a);
}
KILN_MATH_SLOW double sin_turned_slow(double x, UInt64 turn, UInt64 sign) {
  const double a = abs(x);
  if (!(a < Format<double>::kInf)) return Format<double>::kNan;
  return sin_of(reduce_any(a), turn, sign);
}
KILN_MATH_SLOW double tan_slow(double x) {
  const double a = abs(x);
  if (!(a < Format<double>::kInf)) return Format<double>::kNan;
  return tan_of(reduce_any(a), to_bits(x) & Format<double>::kSign);
}

// ---- In range, in f32 ----

// |x| = (quadrant mod 4) * pi/2 + hi + lo. The first difference is exact.
KILN_MATH Reduced<float> reduce_quadrants(float a) {
  constexpr float kPi2a = 0x1.921fb4p0F, kPi2b = 0x1.4442dp-24F, kPi2c = 0x1.846988p-48F;
  const float shifted = fma(a, TrigConstants<float>::kTwoOverPi, Format<float>::kMagic);
  const float n = shifted - Format<float>::kMagic;
  const float near = fma(-n, kPi2a, a);
  const float p = n * kPi2b;
  const float p_lo = fma(n, kPi2b, -p);
  const float r = near - p;
  return {r, fma(-n, kPi2c, ((near - r) - p) - p_lo), to_bits(shifted)};
}
// (sin(r) - r) / r^3, (cos(r) - 1 + r^2/2) / r^4 and (tan(r) - r) / r^3 as functions of z = r^2, |r| <= pi/4;
// errors of the functions 2^-27.8, 2^-32.9 and 2^-29.
KILN_MATH float sin_tail(float z) { return horner(z, -0x1.555544p-3F, 0x1.1106c6p-7F, -0x1.991c1ap-13F); }
KILN_MATH float cos_tail(float z) { return horner(z, 0x1.55554ap-5F, -0x1.6c0c26p-10F, 0x1.99e714p-16F); }
KILN_MATH float tan_tail(float z) {
  return horner(z, 0x1.55556p-2F, 0x1.110d9ap-3F, 0x1.badadcp-5F, 0x1.5cb2cap-6F, 0x1.631e06p-7F,
                0x1.6290f2p-14F, 0x1.1f0b48p-8F);
}
// Sine of the angle turned by `turn` quadrants. `sign` has the sign bit to flip.
KILN_MATH float sin_in_range(const Reduced<float>& r, UInt32 turn, UInt32 sign) {
  const float z = r.hi * r.hi;
  const float sine = r.hi + fma(r.hi * z, sin_tail(z), r.lo);
  const float cosine = fma(z, fma(z, cos_tail(z), -0.5F), 1.0F);
  const UInt32 quadrant = r.quadrant + turn;
  return from_bits(to_bits((quadrant & 1U) != 0 ? cosine : sine) ^ ((quadrant & 2U) << 30) ^ sign);
}
KILN_MATH float sin_in_range(float x) {
  return sin_in_range(reduce_quadrants(abs(x)), 0, to_bits(x) & Format<float>::kSign);
}
KILN_MATH float cos_in_range(float x) { return sin_in_range(reduce_quadrants(abs(x)), 1, 0); }
KILN_MATH float tan_in_range(float x) {
  const Reduced<float> r = reduce_quadrants(abs(x));
  const float z = r.hi * r.hi;
  const float tail = r.hi * z * tan_tail(z);
  const float near = r.hi + tail;
  const float tangent = r.hi + (tail + fma(r.lo, near * near, r.lo));
  const bool odd = (r.quadrant & 1U) != 0;
  const float value = (odd ? -1.0F : tangent) / (odd ? tangent : 1.0F);
  return from_bits(to_bits(value) ^ (to_bits(x) & Format<float>::kSign));
}
KILN_MATH double sin_in_range(double x) {
  return sin_of(reduce_in_range(abs(x)), 0, to_bits(x) & Format<double>::kSign);
}
KILN_MATH double cos_in_range(double x) { return sin_of(reduce_in_range(abs(x)), 1, 0); }
KILN_MATH double tan_in_range(double x) {
  return tan_of(reduce_in_range(abs(x)), to_bits(x) & Format<double>::kSign);
}

template <bool kInRange = false, class T>
KILN_MATH T sin(T x) {
  if (!kInRange && !trig_in_range(x)) {
    return static_cast<T>(
        sin_turned_slow(static_cast<double>(x), 0, to_bits(static_cast<double>(x)) & Format<double>::kSign));
  }
  return sin_in_range(x);
}
template <bool kInRange = false, class T>
KILN_MATH T cos(T x) {
  if (!kInRange && !trig_in_range(x)) return static_cast<T>(sin_turned_slow(static_cast<double>(x), 1, 0));
  return cos_in_range(x);
}
template <bool kInRange = false, class T>
KILN_MATH T tan(T x) {
  if (!kInRange && !trig_in_range(x)) return static_cast<T>(tan_slow(static_cast<double>(x)));
  return tan_in_range(x);
}

}  // namespace kiln::math
