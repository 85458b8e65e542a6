// Owns what ranks compute with elements of collectives: the operations of reductions, and factors. The host
// and kernels on cards read it alike, so that both come to the same bits: no standard headers.
#pragma once

#include "tensor/convert.h"

namespace kiln::ranks {

// Sums of bools are "or", since all but 0 is true; products are "and".
struct Add {
  template <class T>
  KILN_MATH T apply(T a, T b) {
    return math::add(a, b);
  }
};
struct Multiply {
  template <class T>
  KILN_MATH T apply(T a, T b) {
    return math::mul(a, b);
  }
};
struct Smaller {
  template <class T>
  KILN_MATH T apply(T a, T b) {
    return math::minimum(a, b);
  }
};
struct Larger {
  template <class T>
  KILN_MATH T apply(T a, T b) {
    return math::maximum(a, b);
  }
};

// An element in the type of its arithmetic: of halves f32.
template <class T>
KILN_MATH auto read(T x) {
  if constexpr (!math::kIsFloating<T> && sizeof(T) == sizeof(math::Int64)) {
    return static_cast<math::Int64>(x);
  } else {
    return scalar::widen(x);
  }
}

template <class T>
struct IntegerRange {
  static constexpr bool kIsSigned = T(-1) < T(0);
  static constexpr int kBits = 8 * static_cast<int>(sizeof(T)) - (kIsSigned ? 1 : 0);
  static constexpr T kMost = static_cast<T>(~0ULL >> (64 - kBits));
  static constexpr T kLeast = kIsSigned ? static_cast<T>(-kMost - 1) : T(0);
};

// An integer is cut toward zero, and to the range of its dtype, beyond which a conversion would be undefined.
template <class T>
KILN_MATH T rounded(double value) {
  if constexpr (scalar::kIsSame<T, Half> || scalar::kIsSame<T, BFloat16>) {
    return scalar::convert<T>(static_cast<float>(value));
  } else if constexpr (scalar::kIsSame<T, bool>) {
    return value != 0;
  } else if constexpr (math::kIsFloating<T>) {
    return static_cast<T>(value);
  } else {
    using Range = IntegerRange<T>;
    if (!(value > static_cast<double>(Range::kLeast))) return value != value ? T(0) : Range::kLeast;
    if (value >= static_cast<double>(Range::kMost)) return Range::kMost;
    return static_cast<T>(value);
  }
}

template <class To, class From>
KILN_MATH To scaled(From x, double factor) {
  return rounded<To>(static_cast<double>(scalar::widen(x)) * factor);
}

}  // namespace kiln::ranks
