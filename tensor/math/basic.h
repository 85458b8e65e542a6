// Owns what the bodies in tensor/math/ are written with: bits of floats, fused multiply-add, rounding,
// polynomials. Read by GCC and clang, by clang as LLVM bitcode, and by NVRTC as text: no standard headers, no
// library calls, and no builtin that one of them lacks. NVRTC is given `-default-device`, or its constexpr
// functions would be of the host, and `--fmad=false`, or a product and a sum would be rounded once.
#pragma once

#if defined(__CUDACC__)
#define KILN_MATH static __device__ __forceinline__
#define KILN_MATH_SLOW static __device__ __noinline__
#define KILN_MATH_TABLE static __device__ const
#else
// Internal linkage: each translation unit is compiled for its own instruction set and must keep its own copy.
#define KILN_MATH [[maybe_unused]] static inline __attribute__((always_inline))
#define KILN_MATH_SLOW [[maybe_unused]] static __attribute__((noinline))
#define KILN_MATH_TABLE [[maybe_unused]] static constexpr
#endif

namespace kiln::math {

using Int32 = int;
using UInt32 = unsigned int;
using Int64 = long long;
using UInt64 = unsigned long long;

// What formulas shared by both precisions need to know of each.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = UInt32;
  using SignedBits = Int32;
  static constexpr int kMantissa = 23;
  static constexpr Bits kSign = 0x80000000U;
  static constexpr Bits kOne = 0x3f800000U;       // bits of 1
  static constexpr Bits kExponent = 0x7f800000U;  // bits of infinity
  static constexpr float kMagic = 0x1.8p23F;      // x + kMagic has round(x) in its low bits
  static constexpr float kTwoToMantissa = 0x1p23F;
  static constexpr float kMinNormal = 0x1p-126F;
  static constexpr float kMax = 0x1.fffffep127F;
  static constexpr float kInf = __builtin_bit_cast(float, kExponent);
  static constexpr float kNan = __builtin_bit_cast(float, kExponent | 0x400000U);
};
template <>
struct Format<double> {
  using Bits = UInt64;
  using SignedBits = Int64;
  static constexpr int kMantissa = 52;
  static constexpr Bits kSign = 0x8000000000000000ULL;
  static constexpr Bits kOne = 0x3ff0000000000000ULL;
  static constexpr Bits kExponent = 0x7ff0000000000000ULL;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr double kTwoToMantissa = 0x1p52;
  static constexpr double kMinNormal = 0x1p-1022;
  static constexpr double kMax = 0x1.fffffffffffffp1023;
  static constexpr double kInf = __builtin_bit_cast(double, kExponent);
  static constexpr double kNan = __builtin_bit_cast(double, kExponent | 0x8000000000000ULL);
};
template <class T>
inline constexpr bool kIsFloating = false;
template <>
inline constexpr bool kIsFloating<float> = true;
template <>
inline constexpr bool kIsFloating<double> = true;

KILN_MATH UInt32 to_bits(float x) { return __builtin_bit_cast(UInt32, x); }
KILN_MATH UInt64 to_bits(double x) { return __builtin_bit_cast(UInt64, x); }
KILN_MATH float from_bits(UInt32 bits) { return __builtin_bit_cast(float, bits); }
KILN_MATH double from_bits(UInt64 bits) { return __builtin_bit_cast(double, bits); }

#if defined(__CUDACC__)
KILN_MATH float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
KILN_MATH double fma(double a, double b, double c) { return ::fma(a, b, c); }
KILN_MATH float sqrt(float x) { return ::__fsqrt_rn(x); }
KILN_MATH double sqrt(double x) { return ::__dsqrt_rn(x); }
KILN_MATH float floor(float x) { return ::floorf(x); }
KILN_MATH double floor(double x) { return ::floor(x); }
KILN_MATH float ceil(float x) { return ::ceilf(x); }
KILN_MATH double ceil(double x) { return ::ceil(x); }
KILN_MATH float trunc(float x) { return ::truncf(x); }
KILN_MATH double trunc(double x) { return ::trunc(x); }
KILN_MATH float rint(float x) { return ::rintf(x); }
KILN_MATH double rint(double x) { return ::rint(x); }
#else
KILN_MATH float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KILN_MATH double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
KILN_MATH float sqrt(float x) { return __builtin_sqrtf(x); }
KILN_MATH double sqrt(double x) { return __builtin_sqrt(x); }
KILN_MATH float floor(float x) { return __builtin_floorf(x); }
KILN_MATH double floor(double x) { return __builtin_floor(x); }
KILN_MATH float ceil(float x) { return __builtin_ceilf(x); }
KILN_MATH double ceil(double x) { return __builtin_ceil(x); }
KILN_MATH float trunc(float x) { return __builtin_truncf(x); }
KILN_MATH double trunc(double x) { return __builtin_trunc(x); }
KILN_MATH float rint(float x) { return __builtin_rintf(x); }
KILN_MATH double rint(double x) { return __builtin_rint(x); }
#endif
// Integer arithmetic wraps.
KILN_MATH Int32 wrap(UInt32 x) { return static_cast<Int32>(x); }
KILN_MATH Int64 wrap(UInt64 x) { return static_cast<Int64>(x); }
KILN_MATH UInt32 to_unsigned(Int32 x) { return static_cast<UInt32>(x); }
KILN_MATH UInt64 to_unsigned(Int64 x) { return static_cast<UInt64>(x); }
KILN_MATH Int32 add(Int32 a, Int32 b) { return wrap(to_unsigned(a) + to_unsigned(b)); }
KILN_MATH Int64 add(Int64 a, Int64 b) { return wrap(to_unsigned(a) + to_unsigned(b)); }
KILN_MATH Int32 sub(Int32 a, Int32 b) { return wrap(to_unsigned(a) - to_unsigned(b)); }
KILN_MATH Int64 sub(Int64 a, Int64 b) { return wrap(to_unsigned(a) - to_unsigned(b)); }
KILN_MATH Int32 mul(Int32 a, Int32 b) { return wrap(to_unsigned(a) * to_unsigned(b)); }
KILN_MATH Int64 mul(Int64 a, Int64 b) { return wrap(to_unsigned(a) * to_unsigned(b)); }
KILN_MATH Int32 negate(Int32 x) { return sub(Int32{0}, x); }
KILN_MATH Int64 negate(Int64 x) { return sub(Int64{0}, x); }
KILN_MATH float add(float a, float b) { return a + b; }
KILN_MATH double add(double a, double b) { return a + b; }
KILN_MATH float sub(float a, float b) { return a - b; }
KILN_MATH double sub(double a, double b) { return a - b; }
KILN_MATH float mul(float a, float b) { return a * b; }
KILN_MATH double mul(double a, double b) { return a * b; }
KILN_MATH float negate(float x) { return -x; }
KILN_MATH double negate(double x) { return -x; }
// Integers are their own floor.
KILN_MATH Int32 floor(Int32 x) { return x; }
KILN_MATH Int64 floor(Int64 x) { return x; }
KILN_MATH Int32 ceil(Int32 x) { return x; }
KILN_MATH Int64 ceil(Int64 x) { return x; }
KILN_MATH Int32 trunc(Int32 x) { return x; }
KILN_MATH Int64 trunc(Int64 x) { return x; }
KILN_MATH Int32 rint(Int32 x) { return x; }
KILN_MATH Int64 rint(Int64 x) { return x; }

template <class T>
KILN_MATH T abs(T x) {
  if constexpr (kIsFloating<T>) {
    return from_bits(static_cast<typename Format<T>::Bits>(to_bits(x) & ~Format<T>::kSign));
  } else {
    return x < 0 ? negate(x) : x;
  }
}
template <class T>
KILN_MATH T copysign(T magnitude, T sign) {
  using F = Format<T>;
  return from_bits(
      static_cast<typename F::Bits>((to_bits(magnitude) & ~F::kSign) | (to_bits(sign) & F::kSign)));
}
template <class T>
KILN_MATH bool signbit(T x) {
  return (to_bits(x) & Format<T>::kSign) != 0;
}
// condition ? a : b by masks: both sides are computed. For choices that the compiler would make branches of,
// which keep a loop from becoming vector code.
template <class T>
KILN_MATH T choose(bool condition, T a, T b) {
  using Bits = typename Format<T>::Bits;
  const Bits mask = static_cast<Bits>(0) - static_cast<Bits>(condition);
  return from_bits(static_cast<Bits>((to_bits(a) & mask) | (to_bits(b) & ~mask)));
}
template <class T>
KILN_MATH bool isnan(T x) {
  return x != x;
}
// Whether either is NaN, in one comparison.
template <class T>
KILN_MATH bool unordered(T a, T b) {
  if constexpr (!kIsFloating<T>) {
    return false;
  } else {
#if defined(__CUDACC__)
    return isnan(a) | isnan(b);
#else
    return __builtin_isunordered(a, b);
#endif
  }
}
template <class T>
KILN_MATH bool isinf(T x) {
  if constexpr (kIsFloating<T>) {
    return abs(x) == Format<T>::kInf;
  } else {
    return false;
  }
}
template <class T>
KILN_MATH bool isfinite(T x) {
  if constexpr (kIsFloating<T>) {
    return abs(x) <= Format<T>::kMax;
  } else {
    return true;
  }
}

// Of an integer of so many bits, whose results wrap: there 2^bits is 0, and GCC computes differences at the
// width of the elements, as it does not do negatives.
template <class T>
KILN_MATH T negate(T x, int bits) {
  if constexpr (kIsFloating<T>) {
    return negate(x);
  } else {
    return sub(bits > 1 && bits < 32 ? T(1) << bits : T(0), x);
  }
}
template <class T>
KILN_MATH T abs(T x, int bits) {
  if constexpr (kIsFloating<T>) {
    return abs(x);
  } else {
    return x < 0 ? negate(x, bits) : x;
  }
}

// An unevaluated sum, |lo| at most half a last place of hi.
template <class T>
struct Sum {
  T hi, lo;
};
template <class T>
KILN_MATH Sum<T> quick_sum(T a, T b) {  // |a| >= |b|
  const T sum = a + b;
  return {sum, b - (sum - a)};
}
template <class T>
KILN_MATH Sum<T> exact_sum(T a, T b) {
  const T sum = a + b;
  const T part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
// (n.hi + n.lo) / (d.hi + d.lo) by one division and its remainder.
template <class T>
KILN_MATH Sum<T> quotient(Sum<T> n, Sum<T> d) {
  const T inverse = T(1) / d.hi;
  const T q = n.hi * inverse;
  return {q, (fma(-q, d.hi, n.hi) + (n.lo - q * d.lo)) * inverse};
}

// c0 + x*(c1 + x*(c2 + …)), by Horner with one rounding a step.
template <class T>
KILN_MATH T horner(T, T c0) {
  return c0;
}
template <class T, class... C>
KILN_MATH T horner(T x, T c0, C... rest) {
  return fma(x, horner(x, static_cast<T>(rest)...), c0);
}

}  // namespace kiln::math
