// Owns how an element of one dtype becomes one of another: what is read into the types of the arithmetic, and
// how their values are stored. For kernels of every instruction set, LLVM bitcode and NVRTC: no standard
// headers.
#pragma once

#include "tensor/half.h"
#include "tensor/math/arithmetic.h"

namespace kiln::scalar {

template <class A, class B>
inline constexpr bool kIsSame = false;
template <class A>
inline constexpr bool kIsSame<A, A> = true;

// What an element is read as.
template <class T>
KILN_MATH T widen(T x) {
  return x;
}
KILN_MATH math::Int32 widen(bool x) { return x ? 1 : 0; }
KILN_MATH math::Int32 widen(unsigned char x) { return x; }
KILN_MATH math::Int32 widen(signed char x) { return x; }
KILN_MATH math::Int32 widen(short x) { return x; }
KILN_MATH float widen(Half x) { return math::half_to_float(x.bits); }
KILN_MATH float widen(BFloat16 x) { return math::bfloat16_to_float(x.bits); }

// Floats to integers truncate, and wrap from 32 bits for the narrow ones; integers wrap; all but 0 is true.
template <class To, class From>
KILN_MATH To convert(From x) {
  if constexpr (kIsSame<To, From>) {
    return x;
  } else if constexpr (kIsSame<To, bool>) {
    return x != From(0);
  } else if constexpr (kIsSame<To, Half>) {
    return {static_cast<unsigned short>(math::float_to_half(static_cast<float>(x)))};
  } else if constexpr (kIsSame<To, BFloat16>) {
    return {static_cast<unsigned short>(math::float_to_bfloat16(static_cast<float>(x)))};
  } else if constexpr (math::kIsFloating<From> && !math::kIsFloating<To> && sizeof(To) == 8) {
    return static_cast<To>(math::to_int64(x));
  } else if constexpr (math::kIsFloating<From> && !math::kIsFloating<To>) {
    return static_cast<To>(math::to_int32(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace kiln::scalar
