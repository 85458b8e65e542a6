// Owns the modified Bessel functions of the first kind of order 0 and 1, also times e^-|x|. Computed in
// double. Bounds, in ULP: 5 for i0, 4 for the others (f32: 0.51).
#pragma once

#include "tensor/math/exp.h"

namespace kiln::math {

// Up to here by the series, whose terms are all positive; beyond by polynomials in 1/x.
inline constexpr double kBesselNear = 8.0;

// The sums of z^k / k!^2 and of z^k / (2 k! (k+1)!), 0 <= z <= 16: what is left out is below 2^-60 of them.
KILN_MATH double bessel0_series(double z) {
  return horner(z, 0x1p0, 0x1p0, 0x1p-2, 0x1.c71c71c71c71cp-6, 0x1.c71c71c71c71cp-10, 0x1.23456789abcdfp-14,
                0x1.02e85c0898b71p-19, 0x1.522a43f65486ap-25, 0x1.522a43f65486ap-31, 0x1.0b313289be0b9p-37,
                0x1.5601885e63e5dp-44, 0x1.69ca9cf3b7f54p-51, 0x1.4197a7f5154bcp-58, 0x1.e725594ee52e9p-66,
                0x1.3e22d70ef3b5fp-73, 0x1.69f7da8510bcdp-81, 0x1.69f7da8510bcdp-89, 0x1.40a2dc2460523p-97,
                0x1.faaf2fa1c79e5p-106, 0x1.674f8e46c208cp-114, 0x1.cbeaf38dc529fp-123,
                0x1.0afb53e9cec0bp-131, 0x1.1a6d4e307528fp-140, 0x1.1159d2b18fe1fp-149);
}
KILN_MATH double bessel1_series(double z) {
  return horner(z, 0x1p-1, 0x1p-2, 0x1.5555555555555p-5, 0x1.c71c71c71c71cp-9, 0x1.6c16c16c16c17p-13,
                0x1.845c8a0ce5129p-18, 0x1.27e4fb7789f5cp-23, 0x1.522a43f65486ap-29, 0x1.2c9758daf5cd0p-35,
                0x1.ab81ea75fcdf4p-42, 0x1.f17697cf1cf13p-49, 0x1.e2637bef9ff1ap-56, 0x1.8bce58901a35ep-63,
                0x1.165e7c2d153f3p-70, 0x1.53585cdcbfb10p-78, 0x1.69f7da8510bcdp-86, 0x1.54ad09e6a6575p-94,
                0x1.1d028acb00491p-102, 0x1.aaae78f4066a6p-111, 0x1.1f72d8389b3a3p-119,
                0x1.5e69de22df5cep-128, 0x1.84564b82a1184p-137, 0x1.88f11edf3ed4cp-146,
                0x1.6c77c3976a829p-155);
}
// sqrt(x) e^-x I0(x) and sqrt(x) e^-x I1(x) as functions of t = 16/x - 1, x >= 8: Chebyshev interpolants,
// error 2^-55.
KILN_MATH double bessel0_far(double t) {
  return horner(t, 0x1.9bd428ad249a5p-2, 0x1.b87969bb93b86p-9, 0x1.1daa72b5cffa0p-13, 0x1.75e5ee7193c9bp-17,
                0x1.8e513c2fbb4d7p-20, 0x1.3f49a7d62b2a7p-22, 0x1.7d0d0cb6d579cp-24, 0x1.51ce71adfb8dcp-25,
                0x1.7281608082bb2p-26, 0x1.0393c5c549066p-27, -0x1.d6aed4e999c8ap-28, -0x1.ccba1604bc157p-27,
                -0x1.5a374e8067293p-28, 0x1.03813921d363bp-27, 0x1.c2cf2e6a86796p-28, -0x1.e1db3b1fc3ea5p-29,
                -0x1.3a6dfcb29fb62p-28, 0x1.a1d63d6d82361p-30, 0x1.2df0453a22419p-29, -0x1.3a3b59d669597p-31,
                -0x1.6cab377ea12d0p-31, 0x1.4ffe43b34b0cfp-33, 0x1.9be1812d98422p-34, -0x1.646da66119131p-36);
}
KILN_MATH double bessel1_far(double t) {
  return horner(t, 0x1.8ebe783a84030p-2, -0x1.3f796198ee62dp-7, -0x1.cbc54df1d5adep-13,
                -0x1.f89c230615615p-17, -0x1.ec8e123ea3305p-20, -0x1.76137f7ae6917p-22,
                -0x1.ad8b35adc406dp-24, -0x1.727a1058f659fp-25, -0x1.91e151ca6bf60p-26,
                -0x1.21936a1ea1c23p-27, 0x1.d60cff70f4ce9p-28, 0x1.e236784650fb0p-27, 0x1.805f9b8194527p-28,
                -0x1.069735b018307p-27, -0x1.dfed018844927p-28, 0x1.d6e5e5ac6b3a3p-29, 0x1.4a94ecae55871p-28,
                -0x1.8b794674af088p-30, -0x1.3bb2a62cd1582p-29, 0x1.23214d692a960p-31, 0x1.7c45609d3fdd4p-31,
                -0x1.341e6ffaf59fbp-33, -0x1.acea3b2532277p-34, 0x1.45b8aea87b952p-36);
}

// The function where a series has its part, and that of the formula for large ones; the argument of the one
// that is not taken stays where it is finite.
struct BesselParts {
  double a;         // |x|
  double near;      // held below kBesselNear
  double far_unit;  // 16/a - 1, a held above kBesselNear
  bool is_near;
};
KILN_MATH BesselParts bessel_parts(double x) {
  const double a = abs(x);
  const double far = a < kBesselNear ? kBesselNear : a;
  return {a, a > kBesselNear ? kBesselNear : a, 2.0 * kBesselNear / far - 1.0, a <= kBesselNear};
}
// e^a times what grows no further, a >= 8: the power in two parts, neither of which leaves the numbers.
KILN_MATH double times_exp(double scaled, double a) {
  const double held = a > 1400.0 ? 1400.0 : a;
  const double half = exp(0.5 * held);
  return half * (scaled / sqrt(held)) * half;
}

KILN_MATH double i0(double x) {
  const BesselParts b = bessel_parts(x);
  const double near = bessel0_series(0.25 * b.near * b.near);
  return b.is_near ? near : times_exp(bessel0_far(b.far_unit), b.a);
}
KILN_MATH double i0e(double x) {
  const BesselParts b = bessel_parts(x);
  const double near = bessel0_series(0.25 * b.near * b.near) * exp(-b.near);
  return b.is_near ? near : bessel0_far(b.far_unit) / sqrt(b.a);
}
KILN_MATH double i1(double x) {
  const BesselParts b = bessel_parts(x);
  const double near = b.near * bessel1_series(0.25 * b.near * b.near);
  return copysign(b.is_near ? near : times_exp(bessel1_far(b.far_unit), b.a), x);
}
KILN_MATH double i1e(double x) {
  const BesselParts b = bessel_parts(x);
  const double near = b.near * bessel1_series(0.25 * b.near * b.near) * exp(-b.near);
  return copysign(b.is_near ? near : bessel1_far(b.far_unit) / sqrt(b.a), x);
}
KILN_MATH float i0(float x) { return static_cast<float>(i0(static_cast<double>(x))); }
KILN_MATH float i0e(float x) { return static_cast<float>(i0e(static_cast<double>(x))); }
KILN_MATH float i1(float x) { return static_cast<float>(i1(static_cast<double>(x))); }
KILN_MATH float i1e(float x) { return static_cast<float>(i1e(static_cast<double>(x))); }

}  // namespace kiln::math
