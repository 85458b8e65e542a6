// Owns how an element meets the one at the place it is put to. For kernels of every instruction set and for
// cards: no standard headers.
#pragma once

#include "tensor/convert.h"

namespace kiln {

// Integers wrap; the greater and the less of nan is nan.
enum class Put { Write, Add, Multiply, Max, Min };

// One combination of two elements; halves through f32, integers modulo 2^bits.
template <Put kPut, class T>
KILN_MATH T combined(T a, T b) {
  if constexpr (scalar::kIsSame<T, bool>) {
    return kPut == Put::Add || kPut == Put::Max ? a || b : a && b;
  } else if constexpr (kPut == Put::Max || kPut == Put::Min) {
    const auto x = scalar::widen(a), y = scalar::widen(b);
    const bool first = x != x || (kPut == Put::Max ? x > y : x < y);
    return first ? a : b;
  } else if constexpr (math::kIsFloating<decltype(scalar::widen(a))>) {
    const auto x = scalar::widen(a), y = scalar::widen(b);
    return scalar::convert<T>(kPut == Put::Add ? x + y : x * y);
  } else {
    const auto x = static_cast<unsigned long long>(a), y = static_cast<unsigned long long>(b);
    return static_cast<T>(kPut == Put::Add ? x + y : x * y);
  }
}

}  // namespace kiln
