// Owns asin acos atan atan2 and hypot. Bounds, in ULP: asin acos atan atan2 2, hypot 1.
#pragma once

#include "tensor/math/basic.h"

namespace kiln::math {

template <class T>
struct PiConstants;
template <>
struct PiConstants<float> {
  static constexpr float kPi = 0x1.921fb6p1F, kPiLo = -0x1.777a5cp-24F;
  static constexpr float kHalf = 0x1.921fb6p0F, kHalfLo = -0x1.777a5cp-25F;
  static constexpr float kQuarter = 0x1.921fb6p-1F, kQuarterLo = -0x1.777a5cp-26F;
};
template <>
struct PiConstants<double> {
  static constexpr double kPi = 0x1.921fb54442d18p1, kPiLo = 0x1.1a62633145c07p-53;
  static constexpr double kHalf = 0x1.921fb54442d18p0, kHalfLo = 0x1.1a62633145c07p-54;
  static constexpr double kQuarter = 0x1.921fb54442d18p-1, kQuarterLo = 0x1.1a62633145c07p-55;
};

// (asin(s) - s) / s^3 as a function of z = s^2 <= 1/4, errors 2^-23.9 and 2^-55.6.
KILN_MATH float asin_tail(float z) {
  return horner(z, 0x1.55555ep-3F, 0x1.332634p-4F, 0x1.70cf0cp-5F, 0x1.b107f8p-6F, 0x1.3a0ca4p-5F);
}
KILN_MATH double asin_tail(double z) {
  return horner(z, 0x1.5555555555556p-3, 0x1.3333333332d9ep-4, 0x1.6db6db6e48dffp-5, 0x1.f1c71c1187edcp-6,
                0x1.6e8bb383c0f08p-6, 0x1.1c4d0fc1b660fp-6, 0x1.c9d336dfb8124p-7, 0x1.77ff42ab335f1p-7,
                0x1.5336524f24f5dp-7, 0x1.5dc12cbf0c5fep-8, 0x1.224dcb3a0f5e8p-6, -0x1.f6744bcd315ddp-7,
                0x1.dc690543156c1p-6);
}
// (atan(t) - t) / t^3 as a function of z = t^2: in f32 for |t| <= 1, error 2^-28.5; in f64 up to tan(pi/8),
// 2^-55.6.
KILN_MATH float atan_tail(float z) {
  return horner(z, -0x1.55553ep-2F, 0x1.9991e4p-3F, -0x1.242086p-3F, 0x1.c08c4ep-4F, -0x1.58091cp-4F,
                0x1.da2a14p-5F, -0x1.fd7e48p-6F, 0x1.642558p-7F, -0x1.d35bd4p-10F);
}
KILN_MATH double atan_tail(double z) {
  return horner(z, -0x1.5555555555555p-2, 0x1.9999999999815p-3, -0x1.2492492481cb5p-3, 0x1.c71c71bca834cp-4,
                -0x1.745d1567da485p-4, 0x1.3b137c1e223a5p-4, -0x1.110d2ea486d9p-4, 0x1.e17f3184cdf4dp-5,
                -0x1.abcbe646fb741p-5, 0x1.7214fe0e22e6dp-5, -0x1.14b92dd1c63f8p-5, 0x1.fb6e3c20417bbp-7);
}
inline constexpr double kTanPi8 = 0.41421356237309504880;
inline constexpr double kTan3Pi8 = 2.41421356237309504880;

// asin of a, or of sqrt((1-a)/2) when a > 1/2: asin(a) = pi/2 - 2 asin(sqrt((1-a)/2)).
template <class T>
struct AsinParts {
  T s, tail;  // asin(s) = s + tail
};
template <class T>
KILN_MATH AsinParts<T> asin_parts(T a, bool large) {
  const T z = choose(large, (T(1) - a) * T(0.5), a * a);
  const T s = choose(large, sqrt(z), a);
  return {s, s * z * asin_tail(z)};
}
template <class T>
KILN_MATH T asin(T x) {
  using C = PiConstants<T>;
  const bool large = abs(x) > T(0.5);
  const AsinParts<T> p = asin_parts(abs(x), large);
  const Sum<T> outer = quick_sum(C::kHalf, T(-2) * p.s);
  const T far = outer.hi + (outer.lo - fma(T(2), p.tail, -C::kHalfLo));
  return copysign(choose(large, far, p.s + p.tail), x);
}
template <class T>
KILN_MATH T acos(T x) {
  using C = PiConstants<T>;
  const bool large = abs(x) > T(0.5);
  const AsinParts<T> p = asin_parts(abs(x), large);
  const T value = p.s + p.tail;
  const T twice = T(2) * value;
  const T outer = choose(x < T(0), C::kPi - (twice - C::kPiLo), twice);
  const T inner = C::kHalf - (copysign(value, x) - C::kHalfLo);
  return choose(large, outer, inner);
}

KILN_MATH double atan(double x) {
  using C = PiConstants<double>;
  const double a = choose(abs(x) > Format<double>::kMax, Format<double>::kMax, abs(x));
  const bool large = a > kTan3Pi8, middle = a > kTanPi8;
  const double above = a + 1.0;
  const double lost = choose(a < 1.0, a - (above - 1.0), 1.0 - (above - a));
  const double numerator = choose(large, -1.0, choose(middle, a - 1.0, a));
  const double denominator = choose(large, a, choose(middle, above, 1.0));
  const double denominator_lo = choose(large | !middle, 0.0, lost);
  const double base = choose(large, C::kHalf, choose(middle, C::kQuarter, 0.0));
  const double base_lo = choose(large, C::kHalfLo, choose(middle, C::kQuarterLo, 0.0));
  const Sum<double> t = quotient(Sum<double>{numerator, 0.0}, Sum<double>{denominator, denominator_lo});
  const double z = t.hi * t.hi;
  const double angle = t.hi + fma(t.hi * z, atan_tail(z), t.lo + base_lo);
  return copysign(base + angle, x);
}

// Above 1, pi/2 - atan(1/a).
KILN_MATH float atan(float x) {
  using C = PiConstants<float>;
  const float a = abs(x);
  const bool large = a > 1.0F;
  const float t = (large ? -1.0F : a) / (large ? a : 1.0F);
  const float z = t * t;
  const float tail = fma(t * z, atan_tail(z), large ? C::kHalfLo : 0.0F);
  return copysign((large ? C::kHalf : 0.0F) + (t + tail), x);
}

// The angle of (|x|, |y|) is k * pi/4 + s * atan(t), |t| <= tan(pi/8); then the quadrant.
KILN_MATH double atan2(double y, double x) {
  using C = PiConstants<double>;
  constexpr double kInf = Format<double>::kInf;
  const double ax = abs(x), ay = abs(y);
  const bool steep = ay > ax;
  const double longer = choose(steep, ay, ax), shorter = choose(steep, ax, ay);
  const double unit = choose(longer > 0x1p1000, 0x1p-100, choose(longer < 0x1p-900, 0x1p120, 1.0));
  const double mx = longer * unit, mn = shorter * unit;
  const bool middle = (mn > kTanPi8 * mx) | (mn == kInf);
  const bool edge = (mx == kInf) | (mx == 0.0);
  const Sum<double> below = quick_sum(mx, mn);
  const Sum<double> t = quotient(Sum<double>{choose(middle, mn - mx, mn), 0.0},
                                 Sum<double>{choose(middle, below.hi, mx), choose(middle, below.lo, 0.0)});
  const double z = t.hi * t.hi;
  double angle = choose(edge, 0.0, t.hi + fma(t.hi * z, atan_tail(z), t.lo));
  double quarters = choose(middle, 1.0, 0.0);
  quarters = choose(steep, 2.0 - quarters, quarters);
  angle = choose(steep, -angle, angle);
  const bool left = signbit(x);
  quarters = choose(left, 4.0 - quarters, quarters);
  angle = choose(left, -angle, angle);
  const double base = quarters * C::kQuarter;
  const double base_lo = fma(quarters, C::kQuarter, -base) + quarters * C::kQuarterLo;
  const double result = copysign(base + (angle + base_lo), y);
  return choose((x != x) | (y != y), x + y, result);
}
// Quarters of a turn, and an angle up to pi/4 away from them.
KILN_MATH float atan2(float y, float x) {
  using C = PiConstants<float>;
  constexpr float kInf = Format<float>::kInf;
  const float ax = abs(x), ay = abs(y);
  const bool steep = ay > ax;
  const float longer = choose(steep, ay, ax), shorter = choose(steep, ax, ay);
  const float t = choose(longer == 0.0F, 0.0F, choose(shorter == kInf, 1.0F, shorter / longer));
  const float z = t * t;
  const float tail = t * z * atan_tail(z);
  const bool left = signbit(x), backwards = steep != left;
  const float quarters = choose(steep, 1.0F, choose(left, 2.0F, 0.0F));
  const float turned = choose(backwards, -t, t), turned_tail = choose(backwards, -tail, tail);
  const float angle = turned + fma(quarters, C::kHalfLo, turned_tail);
  const float result = copysign(fma(quarters, C::kHalf, angle), y);
  return choose((x != x) | (y != y), x + y, result);
}

KILN_MATH double hypot(double x, double y) {
  constexpr double kInf = Format<double>::kInf;
  const double ax = abs(x), ay = abs(y);
  const double longer = ax > ay ? ax : ay, shorter = ax > ay ? ay : ax;
  const double unit = longer > 0x1p500 ? 0x1p-600 : longer < 0x1p-450 ? 0x1p600 : 1.0;
  const double back = longer > 0x1p500 ? 0x1p600 : longer < 0x1p-450 ? 0x1p-600 : 1.0;
  const double a = longer * unit, b = shorter * unit;
  const double result = sqrt(fma(a, a, b * b)) * back;
  return choose((ax == kInf) | (ay == kInf), kInf, result);
}
KILN_MATH float hypot(float x, float y) {
  return static_cast<float>(hypot(static_cast<double>(x), static_cast<double>(y)));
}

}  // namespace kiln::math
