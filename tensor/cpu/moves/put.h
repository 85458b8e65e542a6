// Owns the combination of an element with the one at the place it is put to.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"
#include "tensor/ops/put.h"

namespace kiln::cpu {

// One combination of two elements; halves through f32, integers modulo 2^bits.
template <Put kPut, class T>
T combined(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return kPut == Put::Add || kPut == Put::Max ? a || b : a && b;
  } else if constexpr (std::is_same_v<T, Half>) {
    return to_half(combined<kPut>(to_float(a), to_float(b)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(combined<kPut>(to_float(a), to_float(b)));
  } else if constexpr (kPut == Put::Max || kPut == Put::Min) {
    const bool first = a != a || (kPut == Put::Max ? a > b : a < b);
    return first ? a : b;
  } else {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    const auto x = static_cast<Wide>(a);
    const auto y = static_cast<Wide>(b);
    return static_cast<T>(kPut == Put::Add ? x + y : x * y);
  }
}

}  // namespace kiln::cpu
