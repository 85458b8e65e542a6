// Owns division with rounding, remainders, shifts, order, signs and the piecewise activations.
// All are exact or correctly rounded but for the activations (2 ULP), and hold for floats and integers alike.
#pragma once

#include "tensor/math/exp.h"
#include "tensor/math/log.h"

namespace kiln::math {

// ---- Quotients of integers ----
// A division of doubles is vector code, one of integers is not. The quotient is a multiple of 1/b: while a is
// below 2^53, rounding moves it by less than that, and never up to the next integer.

// No division by 0; and 64 bits below what a double holds, with room for the sign. Loops check their block.
template <class T>
KILN_MATH bool integers_in_range(T a, T b) {
  if constexpr (kIsFloating<T>) {
    return true;
  } else if constexpr (sizeof(T) == 4) {
    return b != 0;
  } else {
    constexpr Int64 kBound = Int64{1} << 51;
    return (b != 0) & (a > -kBound) & (a < kBound) & (b > -kBound) & (b < kBound);
  }
}
// Towards 0; divisions by 0 give something and set `bad`.
template <bool kInRange = false, class T>
KILN_MATH T integer_quotient(T a, T b, unsigned& bad) {
  if constexpr (!kInRange) bad |= b == 0 ? 1U : 0U;
  const T divisor = b == 0 || b == -1 ? T(1) : b;  // of the least integer by -1 there is no quotient
  if constexpr (kInRange || sizeof(T) == 4) {
    const T quotient = static_cast<T>(static_cast<double>(a) / static_cast<double>(divisor));
    return b == -1 ? negate(quotient) : quotient;
  } else {
    const T quotient = a / divisor;
    return b == -1 ? negate(quotient) : quotient;
  }
}

// ---- Remainders ----
// r = a - trunc(a/b) b is exact in one fused step while the quotient fits the mantissa. Loops check their
// block with `quotient_in_range` and then call the `…<true>` forms; otherwise by long division.

template <class T>
KILN_MATH bool quotient_in_range(T a, T b) {
  if constexpr (kIsFloating<T>) {
    return abs(a) < abs(b) * Format<T>::kTwoToMantissa && abs(a) <= Format<T>::kMax / T(2) &&
           abs(b) <= Format<T>::kMax;
  } else {
    return integers_in_range(a, b);
  }
}
// The rounded quotient may be the next integer up, never more: then r has the sign opposite to a's.
template <class T>
KILN_MATH T fmod_in_range(T a, T b) {
  const T quotient = trunc(a / b);
  const T r = fma(-quotient, b, a);
  const bool beyond = r != T(0) && signbit(r) != signbit(a);
  return copysign(abs(beyond ? abs(b) - abs(r) : r), a);
}
// Long division of the mantissas, eleven bits at a time: what is left of 53 bits, shifted, fits 64.
template <class T>
KILN_MATH_SLOW T fmod_slow(T a, T b) {
  using F = Format<T>;
  if (isnan(a) || isnan(b) || abs(a) == F::kInf || b == T(0)) return F::kNan;
  if (abs(a) < abs(b)) return a;
  constexpr UInt64 kHidden = UInt64{1} << F::kMantissa;
  const UInt64 bits_a = to_bits(abs(a)), bits_b = to_bits(abs(b));
  const UInt64 field_a = bits_a >> F::kMantissa, field_b = bits_b >> F::kMantissa;
  const UInt64 divisor = (bits_b & (kHidden - 1)) | (field_b > 0 ? kHidden : 0);
  const int exponent_b = field_b > 0 ? static_cast<int>(field_b) : 1;
  int places = (field_a > 0 ? static_cast<int>(field_a) : 1) - exponent_b;
  UInt64 r = ((bits_a & (kHidden - 1)) | (field_a > 0 ? kHidden : 0)) % divisor;
  while (places > 0 && r != 0) {
    const int step = places < 11 ? places : 11;
    r = (r << step) % divisor;
    places -= step;
  }
  const UInt64 unit = exponent_b > F::kMantissa
                          ? static_cast<UInt64>(exponent_b - F::kMantissa) << F::kMantissa
                          : UInt64{1} << (exponent_b - 1);
  return copysign(static_cast<T>(r) * from_bits(static_cast<typename F::Bits>(unit)), a);
}
template <bool kInRange = false, class T>
KILN_MATH T fmod(T a, T b) {
  return kInRange || quotient_in_range(a, b) ? fmod_in_range(a, b) : fmod_slow(a, b);
}

// With the sign of the divisor.
template <bool kInRange = false, class T>
KILN_MATH T remainder(T a, T b, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    const T r = fmod<kInRange>(a, b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
  } else {
    const T r = sub(a, mul(integer_quotient<kInRange>(a, b, bad), b));
    return ((r != 0) & ((r ^ b) < 0)) ? r + b : r;
  }
}
// With the sign of the dividend.
template <bool kInRange = false, class T>
KILN_MATH T remainder_trunc(T a, T b, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    return fmod<kInRange>(a, b);
  } else {
    return sub(a, mul(integer_quotient<kInRange>(a, b, bad), b));
  }
}
template <bool kInRange = false, class T>
KILN_MATH T trunc_div(T a, T b, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    return trunc(a / b);
  } else {
    return integer_quotient<kInRange>(a, b, bad);
  }
}
// Floats as Python divides them: consistent with `remainder`, so that a is the quotient times b plus it.
template <bool kInRange = false, class T>
KILN_MATH T floor_div(T a, T b, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    const T plain = a / b;
    const T r = fmod<kInRange>(a, b);
    T quotient = (a - r) / b;
    quotient = r != T(0) && (b < T(0)) != (r < T(0)) ? quotient - T(1) : quotient;
    const T below = floor(quotient);
    const T nearest = quotient - below > T(0.5) ? below + T(1) : below;
    const T result = quotient != T(0) ? nearest : copysign(T(0), plain);
    return b == T(0) ? plain : result;
  } else {
    const T quotient = integer_quotient<kInRange>(a, b, bad);
    const T r = sub(a, mul(quotient, b));
    return ((r != 0) & ((r ^ b) < 0)) ? quotient - 1 : quotient;
  }
}

// The modes of `div`: by the position of the word among those of its attribute; any other number divides
// exactly.
inline constexpr double kTruncMode = 0, kFloorMode = 1;
template <class T>
KILN_MATH bool divide_in_range(T a, T b, double mode) {
  return mode == kFloorMode ? quotient_in_range(a, b) : integers_in_range(a, b);
}
template <bool kInRange = false, class T>
KILN_MATH T divide(T a, T b, double mode, unsigned& bad) {
  if constexpr (kIsFloating<T>) {
    return mode == kFloorMode ? floor_div<kInRange>(a, b, bad) : mode == kTruncMode ? trunc(a / b) : a / b;
  } else {
    return mode == kFloorMode ? floor_div<kInRange>(a, b, bad) : trunc_div<kInRange>(a, b, bad);
  }
}

// ---- Truth ----
// Bools and bytes are computed as Int32: of a comparison of two of their comparisons GCC makes no vector
// code, and of a choice between numbers longer code where masks are as wide as the elements.
template <class T>
KILN_MATH bool is_one_nonzero(T a, T b) {
  if constexpr (!kIsFloating<T> && sizeof(T) == sizeof(Int32))
    return ((a != T(0) ? 1 : 0) ^ (b != T(0) ? 1 : 0)) != 0;
  else
    return (a != T(0)) != (b != T(0));
}

// ---- Shifts: `bad` is set for an amount outside of [0, bits). ----
template <class T>
KILN_MATH bool shift_in_range(T amount, int bits) {
  return (amount >= 0) & (amount < bits);
}
// Bytes are moved by 1, 2 and 4 places where the amount has those bits: so loops over bytes stay as narrow,
// which they do not where the amount is no constant. To the left by additions, of which there are such.
KILN_MATH unsigned char byte_sum(unsigned char a, unsigned char b) {
  return static_cast<unsigned char>(a + b);
}
KILN_MATH unsigned char byte_left(unsigned char x, unsigned char amount) {
  const unsigned char by_1 = (amount & 1) != 0 ? byte_sum(x, x) : x;
  const unsigned char twice = byte_sum(by_1, by_1), by_2 = (amount & 2) != 0 ? byte_sum(twice, twice) : by_1;
  const unsigned char four = byte_sum(by_2, by_2), eight = byte_sum(four, four);
  const unsigned char sixteen = byte_sum(eight, eight);
  return (amount & 4) != 0 ? byte_sum(sixteen, sixteen) : by_2;
}
KILN_MATH unsigned char byte_right(unsigned char x, unsigned char amount) {
  x = static_cast<unsigned char>((amount & 1) != 0 ? x >> 1 : x);
  x = static_cast<unsigned char>((amount & 2) != 0 ? x >> 2 : x);
  return static_cast<unsigned char>((amount & 4) != 0 ? x >> 4 : x);
}
// AVX-512 shifts 16-bit elements each by its own distance. GCC uses it to the right alone, where it sees that
// no distance is beyond; to the left x is multiplied by the power of two.
#if defined(__AVX512BW__)
inline constexpr bool kShiftsWords = true;
#else
inline constexpr bool kShiftsWords = false;
#endif
template <class T>
KILN_MATH T word_left(T x, T amount) {
  return mul(x, static_cast<T>(static_cast<unsigned short>(0x8000 >> ((15 - amount) & 15))));
}
// Without, GCC must not see that x has 16 bits: it would shift at that width, element by element.
template <class T>
KILN_MATH T word_right(T x, T amount) {
  return kShiftsWords ? x >> (amount & 15) : wrap(to_unsigned(x) << 16) >> (amount + 16);
}
// In range, the results for bytes and 16 bits are right modulo 2^8 and 2^16: elements wrap.
template <bool kInRange = false, class T>
KILN_MATH T left_shift(T x, T amount, int bits, unsigned& bad) {
  if (kInRange && bits == 8)
    return byte_left(static_cast<unsigned char>(x), static_cast<unsigned char>(amount));
  if (kInRange && kShiftsWords && bits == 16) return word_left(x, amount);
  if constexpr (kInRange) return wrap(to_unsigned(x) << amount);
  const bool outside = !shift_in_range(amount, bits);
  bad |= outside ? 1U : 0U;
  return wrap(to_unsigned(x) << (outside ? T(0) : amount));
}
template <bool kInRange = false, class T>
KILN_MATH T right_shift(T x, T amount, int bits, unsigned& bad) {
  if (kInRange && kShiftsWords && bits == 8) return word_right(x, amount);
  if (kInRange && bits == 8) {  // of a negative number the bits that are 0 move
    const auto flipped = static_cast<unsigned char>(x < 0 ? 0xff : 0);
    const auto byte = static_cast<unsigned char>(static_cast<unsigned char>(x) ^ flipped);
    return byte_right(byte, static_cast<unsigned char>(amount)) ^ flipped;
  }
  if (kInRange && bits == 16) return word_right(x, amount);
  if constexpr (kInRange) return x >> amount;
  const bool outside = !shift_in_range(amount, bits);
  bad |= outside ? 1U : 0U;
  return x >> (outside ? T(0) : amount);
}

// ---- Order. NaN on either side gives NaN; +0 is the larger zero. ----
// Of numbers. Of two equals one choice takes b and the other a: their bits tell zeros apart, and are else the
// same.
template <class T>
KILN_MATH T larger_of(T a, T b) {
  const T larger = a > b ? a : b;
  if constexpr (kIsFloating<T>) {
    return from_bits(to_bits(larger) & to_bits(b > a ? b : a));
  } else {
    return larger;
  }
}
template <class T>
KILN_MATH T smaller_of(T a, T b) {
  const T smaller = a < b ? a : b;
  if constexpr (kIsFloating<T>) {
    return from_bits(to_bits(smaller) | to_bits(b < a ? b : a));
  } else {
    return smaller;
  }
}
template <class T>
KILN_MATH T nan_if(bool condition, T x) {
  if constexpr (kIsFloating<T>) {
    return condition ? Format<T>::kNan : x;
  } else {
    return x;
  }
}
template <class T>
KILN_MATH T maximum(T a, T b) {
  return nan_if(unordered(a, b), larger_of(a, b));
}
template <class T>
KILN_MATH T minimum(T a, T b) {
  return nan_if(unordered(a, b), smaller_of(a, b));
}
// The bound that is crossed, `high` of both; zeros stay what they are at a bound of the other sign, as in
// PyTorch.
template <class T>
KILN_MATH T clamp(T x, T low, T high) {
  const T raised = low > x ? low : x;
  return nan_if(unordered(low, high), high < raised ? high : raised);
}

// ---- Signs and pieces ----
template <class T>
KILN_MATH T sign(T x) {
  return static_cast<T>(static_cast<int>(x > T(0)) - static_cast<int>(x < T(0)));
}
template <class T>
KILN_MATH T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
KILN_MATH_TABLE double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
template <class T>
KILN_MATH T round_decimals(T x, double decimals) {
  if constexpr (kIsFloating<T>) {
    const double places = abs(decimals);
    const T p = static_cast<T>(kPowersOfTen[places < 22.0 ? static_cast<int>(places) : 22]);
    if (decimals == 0.0) return rint(x);  // as for all elements: a loop of its own
    return decimals >= 0.0 ? rint(x * p) / p : rint(x / p) * p;
  } else {
    return x;
  }
}
// A NaN replacement for an infinity stands for the largest finite value.
template <class T>
KILN_MATH T nan_to_num(T x, double nan, double above, double below, double largest) {
  if constexpr (kIsFloating<T>) {
    const T high = static_cast<T>(isnan(above) ? largest : above);
    const T low = static_cast<T>(isnan(below) ? -largest : below);
    const T no_high = x == Format<T>::kInf ? high : x;
    const T no_low = x == -Format<T>::kInf ? low : no_high;
    return isnan(x) ? static_cast<T>(nan) : no_low;
  } else {
    return x;
  }
}
template <class T>
KILN_MATH T elu(T x, T alpha) {
  return x > T(0) ? x : alpha * expm1(x);
}
template <class T>
KILN_MATH T softplus(T x, T beta, T threshold) {
  const T scaled = x * beta;
  return scaled > threshold ? x : log1p_exp(scaled) / beta;
}
template <class T>
KILN_MATH T lerp(T a, T b, T weight) {
  const T step = b - a;
  const T from_a = fma(weight, step, a);
  const T from_b = b - step * (T(1) - weight);
  return abs(weight) < T(0.5) ? from_a : from_b;
}

// ---- Dtypes narrower than the arithmetic ----
// What is no number becomes quiet, as the processors' own conversions make it.
KILN_MATH float half_to_float(UInt32 half) {
  const UInt32 sign = (half & 0x8000U) << 16;
  const UInt32 magnitude = half & 0x7fffU;
  // One exact multiplication moves the exponent and makes subnormals normal.
  const UInt32 finite = to_bits(from_bits(magnitude << 13) * 0x1p112F);
  const UInt32 special = 0x7f800000U | (magnitude << 13) | (magnitude > 0x7c00U ? 0x400000U : 0U);
  return from_bits(sign | (magnitude >= 0x7c00U ? special : finite));
}
KILN_MATH UInt32 float_to_half(float value) {
  const UInt32 bits = to_bits(value);
  const UInt32 magnitude = bits & 0x7fffffffU;
  const UInt32 nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  // Adding 1/2 rounds at the last place of a subnormal half.
  const UInt32 subnormal = to_bits(from_bits(magnitude < 0x38800000U ? magnitude : 0U) + 0.5F) - 0x3f000000U;
  const UInt32 normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  UInt32 half = magnitude < 0x38800000U ? subnormal : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;  // rounds to 65536 or more
  half = magnitude > 0x7f800000U ? nan : half;
  return ((bits >> 16) & 0x8000U) | half;
}
KILN_MATH float bfloat16_to_float(UInt32 bits) { return from_bits(bits << 16); }
// The bits of f32, of which the upper half is the bfloat16 that is nearest; of a number, and of any value.
KILN_MATH UInt32 number_to_bfloat16(float number) {
  const UInt32 bits = to_bits(number);
  return bits + 0x7fffU + ((bits >> 16) & 1U);
}
KILN_MATH UInt32 rounded_to_bfloat16(float value) {
  return isnan(value) ? to_bits(value) | 0x400000U : number_to_bfloat16(value);
}
KILN_MATH UInt32 float_to_bfloat16(float value) { return rounded_to_bfloat16(value) >> 16; }
// Out of range and NaN give the least integer, as x86 converts.
template <class T>
KILN_MATH Int32 to_int32(T x) {
  const bool fits = x >= T(-2147483648.0) && x < T(2147483648.0);
  const Int32 inside = static_cast<Int32>(fits ? x : T(0));
  return fits ? inside : static_cast<Int32>(0x80000000U);
}
template <class T>
KILN_MATH Int64 to_int64(T x) {
  const bool fits = x >= T(-9223372036854775808.0) && x < T(9223372036854775808.0);
  const Int64 inside = static_cast<Int64>(fits ? x : T(0));
  return fits ? inside : static_cast<Int64>(0x8000000000000000ULL);
}

}  // namespace kiln::math
